//go:build ci

package post

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/bench/report"
	"github.com/footfall-dev/footfall/bench/settler"
)

// short is a window with answers even on a busy machine.
const short = 400 * time.Millisecond

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError + 1) // hide the intended refusals
	firstAnswer = 700 * time.Millisecond
	os.Exit(m.Run())
}

func TestTheDefaultTransportIsComparedWithABareLoop(t *testing.T) {
	s, err := runDefault(t.Context(), report.Options{Rounds: 2, Log: t.Logf}, short, []int{1, 3})
	require.NoError(t, err)
	require.Equal(t, "C", s.ID)
	requireFigures(t, s.Tables, 2)
}

func TestTheLeanTransportIsComparedWithWrkAndARawLoop(t *testing.T) {
	s, err := runLean(t.Context(), report.Options{Rounds: 1, Log: t.Logf}, short, []int{3})
	require.NoError(t, err)
	require.Equal(t, "D", s.ID)
	if haveWrk() {
		requireFigures(t, s.Tables, 1)
	}
}

// requireFigures requires a figure in each cell of each row.
func requireFigures(t *testing.T, tables []report.Table, rows int) {
	t.Helper()
	require.Len(t, tables, 1)
	require.Len(t, tables[0].Rows, rows)
	for _, row := range tables[0].Rows {
		require.Len(t, row, len(tables[0].Columns))
		for i, cell := range row {
			require.NotNil(t, cell, tables[0].Columns[i])
			if v, ok := cell.(float64); ok {
				require.False(t, v < 0 || v != v, "%s: %v", tables[0].Columns[i], v)
			}
		}
	}
}

// seen is the first request of a client.
type seen struct {
	header http.Header
	body   string
	path   string
}

// answering starts an API that keeps the first request.
func answering(t *testing.T, status int) (url string, first func() seen) {
	t.Helper()
	var once sync.Once
	var got seen
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		once.Do(func() { got = seen{r.Header.Clone(), string(b), r.Method + " " + r.RequestURI} })
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"accepted":true}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() seen {
		s.Close() // waits for requests, so that got may be read
		return got
	}
}

// All clients must send the same event to be comparable.
func TestEveryClientSendsTheSameEvent(t *testing.T) {
	var want seen
	for _, name := range []string{footfallName, leanName, bareName, rawName, wrkName} {
		if name == wrkName && !haveWrk() {
			continue
		}
		url, first := answering(t, http.StatusAccepted)
		o := &order{Client: name, URL: url, InFlight: 1, Window: short}
		if name == wrkName {
			_, _ = runWrk(t.Context(), o)
		} else {
			l, err := starters[name](o)
			require.NoError(t, err, name)
			require.Eventually(t, func() bool { return l.answered() > 0 }, 5*time.Second, time.Millisecond, name)
			_, err = l.stop()
			require.NoError(t, err, name)
		}
		got := first()
		require.NotEmpty(t, got.header["Idempotency-Key"], name)
		got.header.Del("Idempotency-Key")
		got.header.Del("Accept-Encoding")
		if want.body == "" {
			want = got
		}
		require.Equal(t, want, got, name)
	}
	require.Equal(t, body, want.body)
	require.Equal(t, "POST /v1/events", want.path)
}

func TestAClientThatIsNotAcceptedIsAnError(t *testing.T) {
	for _, name := range []string{footfallName, leanName, bareName, rawName, wrkName} {
		if name == wrkName && !haveWrk() {
			continue
		}
		url, _ := answering(t, http.StatusUnprocessableEntity)
		o := &order{Client: name, URL: url, InFlight: 2, Window: short}
		var err error
		if name == wrkName {
			_, err = runWrk(t.Context(), o)
		} else {
			_, err = obey(o)
		}
		require.Error(t, err, name)
	}
}

// Refused events would be timed like accepted ones.
func TestAnEventThatIsRefusedAmongOthersIsAnError(t *testing.T) {
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if requests.Add(1) == 20 {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"error":"invalid","message":"no","status":422}`)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"accepted":true}`)
	}))
	defer s.Close()
	for _, name := range []string{footfallName, leanName} {
		requests.Store(0)
		_, err := obey(&order{Client: name, URL: s.URL, InFlight: 2, Window: short})
		require.ErrorContains(t, err, "1 events were refused", name)
	}
}

func TestASilentServerIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, err = obey(&order{Client: footfallName, URL: "http://" + l.Addr().String(), InFlight: 2, Window: short})
	require.ErrorContains(t, err, "not one event")
}

func TestACountThatTheServerDoesNotShareIsAnError(t *testing.T) {
	got := &result{Total: 100}
	require.NoError(t, agree(got, 100, 4))
	require.NoError(t, agree(got, 104, 4))
	require.ErrorContains(t, agree(got, 99, 4), "the client counts 100 events, the server 99")
	require.Error(t, agree(got, 105, 4))
}

func TestABacklogThatRunsOutIsAnError(t *testing.T) {
	tracker, err := footfall.New(footfall.Config{SiteID: siteID, DefaultURL: pageURL, Transport: &settler.Settler{}})
	require.NoError(t, err)
	defer tracker.Close(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	require.ErrorContains(t, (&tracking{tracker: tracker}).fill(ctx, 64), "were left for 64 requests in flight")
}

func TestMediansAndRatiosAreTakenOverRounds(t *testing.T) {
	a, b := trial{"a", 1}, trial{"b", 1}
	rate := func(n uint64) *result { return &result{Events: n, Took: time.Second} }
	f := figures{a: {rate(10), rate(40), rate(30)}, b: {rate(20), rate(50), rate(30)}}
	require.Equal(t, 30.0, f.Median(a, (*result).perSecond))
	require.Equal(t, 0.8, f.Ratio(a, b, (*result).perSecond))
	require.Nil(t, f.Median(trial{"c", 1}, (*result).perSecond))
	require.Nil(t, f.Ratio(a, trial{"c", 1}, (*result).perSecond))
	require.Equal(t, 2.5, report.Median([]float64{3, 2}))
}
