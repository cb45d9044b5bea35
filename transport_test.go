package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/internal/queue"
)

// onSocket returns a tracker that delivers to api over a real socket, with short backoffs.
func onSocket(t *testing.T, api *footfalltest.API, change ...func(*footfall.Config)) *footfall.Tracker {
	t.Helper()
	cfg := api.Config()
	quiet(&cfg)
	cfg.BackoffMin, cfg.BackoffMax = time.Millisecond, 20*time.Millisecond
	cfg.ProbeMin, cfg.ProbeMax = time.Millisecond, 20*time.Millisecond
	for _, c := range change {
		c(&cfg)
	}
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = closeWithin(tracker, time.Second) })
	return tracker
}

func flush(t *testing.T, tracker *footfall.Tracker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.NoError(t, tracker.Flush(ctx))
}

func TestPanicInTheApplicationsHooksDoesNotReachTheApplication(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	api.Next(footfalltest.Status(422))
	panics := 3
	tracker := onSocket(t, api, func(c *footfall.Config) {
		c.OnRejected = func(*footfall.RejectedError) { panic("in OnRejected") }
		c.HTTPClient = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if panics--; panics >= 0 {
				panic("in a RoundTripper")
			}
			return http.DefaultTransport.RoundTrip(r)
		})}
		c.MaxInFlight = 1
	})
	track(t, tracker, 2)
	flush(t, tracker)
	assert.Equal(t, uint64(1), tracker.Stats().Delivered)
	assert.Equal(t, uint64(1), tracker.Stats().Rejected)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestPanickingTransportStopsDeliveryNotTheApplication(t *testing.T) {
	t.Parallel()
	tracker, err := footfall.New(footfall.Config{SiteID: "s", DefaultURL: "https://example.com/", Transport: broken{}, Logger: (&journal{}).Logger()})
	require.NoError(t, err)
	track(t, tracker, 3)
	var account *footfall.CloseError
	require.ErrorAs(t, closeWithin(tracker, time.Second), &account)
	assert.Equal(t, uint64(3), account.Lost)
}

type broken struct{}

func (broken) Deliver(context.Context, *footfall.Source) { panic("broken transport") }

// The protocols that the default transport offers in the handshake determine the protocol.
func TestHTTP1IsPreferredToHTTP2(t *testing.T) {
	t.Parallel()
	offered := make(chan []string, 4)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go serveHandshakes(listener, offered)
	cfg := footfall.Config{BaseURL: "https://" + listener.Addr().String(), APIKey: testKey, SiteID: "s", DefaultURL: "https://example.com/", FlushInterval: time.Millisecond}
	quiet(&cfg)
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	track(t, tracker, 1)
	assert.NotContains(t, <-offered, "h2")
	_ = closeWithin(tracker, 10*time.Millisecond)
}

type countingTransport struct {
	http.RoundTripper
	closed int
}

func (c *countingTransport) CloseIdleConnections() { c.closed++ }

func TestTheApplicationsHTTPClientIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	resendable := false
	transport := &countingTransport{RoundTripper: roundTripper(func(r *http.Request) (*http.Response, error) {
		resendable = r.GetBody != nil
		return answerStatus(202)(r, "")
	})}
	client := &http.Client{Transport: transport}
	tracker := start(t, transport, func(c *footfall.Config) { c.HTTPClient = client })
	track(t, tracker, 1)
	require.NoError(t, closeWithin(tracker, 10*time.Second))
	assert.Zero(t, transport.closed, "its connections may be in use elsewhere")
	assert.Nil(t, client.CheckRedirect)
	assert.True(t, resendable, "net/http sends again by itself on a connection that turns out to be dead")
}

func TestBodyOfARequestIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var late []string
		f := roundTripper(func(r *http.Request) (*http.Response, error) {
			go func() { // like net/http's writeLoop
				time.Sleep(100 * time.Millisecond)
				b := make([]byte, r.ContentLength)
				_, _ = r.Body.Read(b)
				mu.Lock()
				defer mu.Unlock()
				late = append(late, string(b))
			}()
			return answerStatus(202)(r, "")
		})
		tracker := start(t, f)
		for i := range 3 {
			require.NoError(t, tracker.Track(context.Background(), fmt.Sprintf("event_%d", i)))
			require.NoError(t, tracker.Flush(context.Background()))
		}
		time.Sleep(time.Second)
		require.NoError(t, closeWithin(tracker, time.Second))
		mu.Lock()
		defer mu.Unlock()
		for i := range 3 {
			assert.Contains(t, strings.Join(late, "\n"), fmt.Sprintf("event_%d", i))
		}
	})
}

func TestRejectedErrorKeepsItsBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerRefused(422))
		var kept []*footfall.RejectedError
		tracker := start(t, f, func(c *footfall.Config) {
			c.MaxInFlight = 1
			c.OnRejected = func(err *footfall.RejectedError) { kept = append(kept, err) }
		})
		for i := range 3 {
			require.NoError(t, tracker.Track(context.Background(), fmt.Sprintf("event_%d", i)))
			require.NoError(t, tracker.Flush(context.Background()))
		}
		require.NoError(t, closeWithin(tracker, time.Second))
		for i, err := range kept {
			assert.Equal(t, f.bodies[i], string(err.Body))
		}
	})
}

func TestAnOutcomePrintsItsName(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[footfall.Outcome]string{
		footfall.OutcomeLost:      "lost",
		footfall.OutcomeDelivered: "delivered",
		footfall.OutcomeRejected:  "rejected",
		footfall.OutcomeStored:    "stored",
		4:                         "Outcome(4)",
		9:                         "Outcome(9)",
		255:                       "Outcome(255)",
	} {
		assert.Equal(t, want, fmt.Sprint(outcome))
	}
}

func TestOutcomesMatchTheOutcomesOfTheQueue(t *testing.T) {
	t.Parallel()
	assert.EqualValues(t, queue.Lost, footfall.OutcomeLost)
	assert.EqualValues(t, queue.Delivered, footfall.OutcomeDelivered)
	assert.EqualValues(t, queue.Rejected, footfall.OutcomeRejected)
	assert.EqualValues(t, queue.Stored, footfall.OutcomeStored)
}

// broker is a Poster that keeps records in memory.
type broker struct {
	mu   sync.Mutex
	err  error // what Post returns, if not nil
	post func(a *footfall.Answer)
	kept map[string]bool
}

func (b *broker) Post(_ context.Context, r footfall.Record, a *footfall.Answer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.Status = 202
	if b.post != nil {
		b.post(a)
	}
	if b.err == nil && a.Status == 202 {
		b.kept[r.ID.String()] = true
	}
	return b.err
}

func (b *broker) Close() {}

func (b *broker) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

// openStoring returns a tracker of b, without address and key of an API.
func openStoring(t *testing.T, b *broker, log *slog.Logger) *footfall.Tracker {
	b.kept = make(map[string]bool)
	cfg := footfall.Config{SiteID: "site_1", DefaultURL: "https://example.com/", Logger: log, OnRejected: func(err *footfall.RejectedError) { log.Error(err.Error()) }}
	var err error
	cfg.Transport, err = footfall.NewStoringTransport(cfg, b)
	require.NoError(t, err)
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	return tracker
}

func TestAStoringTransportSettlesEventsAsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, log := &broker{}, &footfalltest.Log{}
		tracker := openStoring(t, b, log.Logger())
		require.NoError(t, tracker.TrackDurable(t.Context(), footfall.Event{Name: "paid"}))
		for range 99 {
			require.NoError(t, tracker.Track(t.Context(), "seen"))
		}
		require.NoError(t, tracker.Flush(t.Context()))
		s := tracker.Stats()
		assert.Equal(t, []uint64{100, 100, 0}, []uint64{s.Tracked, s.Stored, s.Delivered})
		assert.Len(t, b.kept, 100)
		require.NoError(t, tracker.Close(t.Context()))
		assert.Empty(t, log.String())
	})
}

func TestAStoringTransportKeepsEventsBehindTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, log := &broker{}, &footfalltest.Log{}
		tracker := openStoring(t, b, log.Logger())
		away := errors.New("the broker is away")
		b.fail(away)
		for range 10 {
			require.NoError(t, tracker.Track(t.Context(), "seen"))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		assert.ErrorIs(t, tracker.TrackDurable(ctx, footfall.Event{Name: "paid"}), away)
		var unsettled *footfall.FlushError
		require.ErrorAs(t, tracker.Flush(ctx), &unsettled)
		assert.ErrorIs(t, unsettled.Cause, away)
		assert.Contains(t, log.String(), "the store does not accept events")
		b.fail(nil)
		require.NoError(t, tracker.Flush(t.Context()))
		assert.Equal(t, uint64(11), tracker.Stats().Stored)
		require.NoError(t, tracker.Close(t.Context()))
		assert.Contains(t, log.String(), "the store accepts events again")
		assert.NotContains(t, log.String(), "the API")
	})
}

// A cluster that elects a leader is away for some seconds.
func TestCloseOfAStoringTransportWaitsForTheStore(t *testing.T) {
	const longestWait = 15 * time.Second // default of Config.BackoffMax
	for name, c := range map[string]struct {
		away, timeout, took time.Duration
		outage              bool // before Close
		lost                uint64
	}{
		"the store comes back":                 {away: 12 * time.Second, timeout: 40 * time.Second, took: 12*time.Second + longestWait},
		"the store comes back after an outage": {away: 12 * time.Second, timeout: 40 * time.Second, took: 12*time.Second + longestWait, outage: true},
		"the context ends":                     {away: time.Hour, timeout: 5 * time.Second, took: 5 * time.Second, lost: 100},
		"the store stays away":                 {away: time.Hour, timeout: time.Hour, took: 50 * time.Second, lost: 100},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &broker{}
				tracker := openStoring(t, b, slog.New(slog.DiscardHandler))
				b.fail(errors.New("the store has no leader"))
				for range 100 {
					require.NoError(t, tracker.Track(t.Context(), "seen"))
				}
				if c.outage {
					time.Sleep(time.Minute)
				}
				time.AfterFunc(c.away, func() { b.fail(nil) })
				ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
				defer cancel()
				began := time.Now()
				err := tracker.Close(ctx)
				assert.Equal(t, c.lost > 0, err != nil, "%v", err)
				assert.LessOrEqual(t, time.Since(began), c.took+100*time.Millisecond)
				assert.Equal(t, []uint64{100 - c.lost, c.lost}, []uint64{tracker.Stats().Stored, tracker.Stats().Dropped})
			})
		})
	}
}

func TestAStoringTransportRejectsAndSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{}
		n := 0
		b.post = func(a *footfall.Answer) {
			switch n++; n {
			case 1:
				panic("no memory")
			case 2:
				a.Status = 413
				a.Body = append(a.Body, `{"error":"too_large","message":"too large","status":413}`...)
			}
		}
		log := &footfalltest.Log{}
		tracker := openStoring(t, b, log.Logger())
		require.NoError(t, tracker.Track(t.Context(), "seen"))
		require.NoError(t, tracker.Flush(t.Context()))
		s := tracker.Stats()
		assert.Equal(t, []uint64{1, 0, 1}, []uint64{s.Tracked, s.Stored, s.Rejected})
		require.NoError(t, tracker.Close(t.Context()))
		assert.Contains(t, log.String(), "too large")
	})
}

func TestAStoringTransportNeedsAPoster(t *testing.T) {
	_, err := footfall.NewStoringTransport(footfall.Config{}, nil)
	require.ErrorContains(t, err, "needs a Poster")
	_, err = footfall.NewStoringTransport(footfall.Config{MaxInFlight: -1}, &broker{})
	require.ErrorContains(t, err, "MaxInFlight")
}

func TestTransportChecksTheFieldsThatItUses(t *testing.T) {
	wrong := footfall.Config{BackoffMin: time.Minute, ProbeMax: -1, MaxInFlight: -1}
	_, err := footfall.NewHTTPTransport(wrong)
	for _, field := range []string{"BaseURL", "APIKey", "MaxInFlight", "BackoffMax", "ProbeMax"} {
		assert.ErrorContains(t, err, "Config."+field+":", field)
	}
	_, err = footfall.NewStoringTransport(wrong, nothing{})
	assert.NotContains(t, err.Error(), "BaseURL")
	assert.ErrorContains(t, err, "Config.BackoffMax:")
	_, err = footfall.NewHTTPTransport(footfall.Config{
		BaseURL: "https://api.example.com", APIKey: "k",
		MaxQueueBytes: -1, PublicURL: "no URL", Limits: footfall.Limits{Name: -1},
	})
	assert.NoError(t, err, "a tracker uses these fields, and a transport has none")
}

// nothing is a Poster that must not be used.
type nothing struct{ footfall.Poster }
