package footfall_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
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
	j := &journal{}
	tracker, err := footfall.New(footfall.Config{SiteID: "s", DefaultURL: "https://example.com/", Transport: broken{}, Logger: j.Logger()})
	require.NoError(t, err)
	track(t, tracker, 3)
	var account *footfall.CloseError
	require.ErrorAs(t, closeWithin(tracker, time.Second), &account)
	assert.Equal(t, uint64(3), account.Lost)
	assert.Contains(t, j.String(), "panic in Config.Transport")
	assert.Contains(t, j.String(), "broken transport")
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

func TestARoundTripperThatEndsItsGoroutineLosesNothing(t *testing.T) {
	for _, inFlight := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			var requests atomic.Int64
			good := newFakeNet()
			tracker := start(t, roundTripper(func(r *http.Request) (*http.Response, error) {
				if requests.Add(1)%2 == 1 {
					runtime.Goexit()
				}
				return good.RoundTrip(r)
			}), func(c *footfall.Config) { c.MaxInFlight = inFlight })
			track(t, tracker, 100)
			require.NoError(t, tracker.Flush(t.Context()))
			assert.Equal(t, uint64(100), tracker.Stats().Delivered)
			track(t, tracker, 100)
			require.NoError(t, closeWithin(tracker, time.Minute))
			assert.Equal(t, uint64(200), tracker.Stats().Delivered)
		})
	}
}

func TestARoundTripperThatAlwaysEndsItsGoroutineIsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		var requests atomic.Int64
		tracker := start(t, roundTripper(func(*http.Request) (*http.Response, error) {
			requests.Add(1)
			runtime.Goexit()
			return nil, nil
		}), j.into)
		track(t, tracker, 100)
		time.Sleep(10 * time.Minute)
		assert.Less(t, requests.Load(), int64(200))
		assert.Contains(t, j.String(), "runtime.Goexit")
		before := goroutinesOfBubble()
		time.Sleep(10 * time.Minute)
		assert.LessOrEqual(t, goroutinesOfBubble(), before+1)
		began := time.Now()
		assert.ErrorContains(t, closeWithin(tracker, time.Minute), "lost 100 of 100")
		assert.Zero(t, time.Since(began))
	})
}

func TestHTTPTransportWorksBehindAnotherTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerRefused(422))
		var refused []error
		transport, err := footfall.NewHTTPTransport(footfall.Config{
			BaseURL: "https://api.example.com", APIKey: testKey, HTTPClient: &http.Client{Transport: f},
			Logger: slog.New(slog.DiscardHandler), OnRejected: func(err *footfall.RejectedError) { refused = append(refused, err) },
		})
		require.NoError(t, err)
		tracker := start(t, f, func(c *footfall.Config) {
			c.BaseURL, c.APIKey, c.HTTPClient, c.OnRejected = "", "", nil, nil
			c.Transport = transport
		})
		track(t, tracker, 1)
		require.NoError(t, tracker.Flush(t.Context()))
		f.set(answerStatus(202))
		track(t, tracker, 1)
		require.NoError(t, closeWithin(tracker, time.Second))
		assert.Equal(t, footfall.Stats{Tracked: 2, Delivered: 1, Rejected: 1}, tracker.Stats())
		require.Len(t, refused, 1)
		assert.ErrorContains(t, refused[0], "422")
	})
}

func TestHTTPTransportNamesMissingFields(t *testing.T) {
	_, err := footfall.NewHTTPTransport(footfall.Config{})
	require.Error(t, err)
	assert.ErrorContains(t, err, "Config.BaseURL")
	assert.ErrorContains(t, err, "Config.APIKey")
	assert.NotContains(t, err.Error(), "SiteID", "which is the tracker's")
}

// lines is a Transport that writes each event as a line.
type lines struct{ w io.Writer }

func (l lines) Deliver(ctx context.Context, src *footfall.Source) {
	records := make([]footfall.Record, 100)
	for {
		if _, ok := src.Wait(ctx); !ok {
			return
		}
		for n := src.Take(records); n > 0; n = src.Take(records) {
			for _, r := range records[:n] {
				_, _ = fmt.Fprintf(l.w, "%s\n", r.Body)
			}
			src.Settle(records[:n], footfall.OutcomeDelivered, nil)
		}
	}
}

func ExampleTransport() {
	tracker, err := footfall.New(footfall.Config{
		BaseURL: "https://api.example.com", APIKey: "secret", SiteID: "site_1",
		Transport: lines{os.Stdout},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := footfall.WithURL(context.Background(), "https://shop.example.com/checkout")
	if err := tracker.Track(ctx, "order_paid", footfall.P("amount", 4999)); err != nil {
		fmt.Println(err)
	}
	fmt.Println(tracker.Close(context.Background()))
	// Output:
	// {"site_id":"site_1","name":"order_paid","url":"https://shop.example.com/checkout","props":{"amount":4999}}
	// <nil>
}

func TestEncodeReturnsWhatTrackEventSends(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	tracker := onSocket(t, api)
	ctx := footfall.WithSite(footfall.WithURL(t.Context(), "https://shop.example.com/checkout"), footfalltest.SiteID)
	for _, id := range []string{"", "webhook:1"} {
		e := footfall.Event{Name: "paid", ID: id, Props: []footfall.Prop{footfall.P("mail", "ada@example.com"), footfall.P("amount", 4999)}}
		record, err := tracker.Encode(ctx, e)
		require.NoError(t, err)
		again, err := tracker.Encode(ctx, e)
		require.NoError(t, err)
		require.NoError(t, tracker.TrackEvent(ctx, e))
		flush(t, tracker)
		requests := api.Requests()
		sent := requests[len(requests)-1]
		assert.Equal(t, string(sent.Body), string(record.Body))
		assert.Equal(t, id, string(record.Key))
		assert.Equal(t, string(record.Body), string(again.Body), "it is not overwritten")
		assert.NotEqual(t, record.ID, again.ID)
		milliseconds := int64(binary.BigEndian.Uint64(record.ID[:8]) >> 16)
		assert.WithinDuration(t, time.Now(), time.UnixMilli(milliseconds), time.Minute, "a UUIDv7 of now")
	}
	assert.Equal(t, uint64(2), tracker.Stats().Tracked)
}

func TestEncodeRefusesWhatTrackRefuses(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	tracker := onSocket(t, api)
	_, err := tracker.Encode(t.Context(), footfall.Event{Name: "paid", ID: "a\nb"})
	field, ok := errors.AsType[*footfall.FieldError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, "id", field.Field)
	assert.Equal(t, uint64(1), tracker.Stats().Invalid)
	require.NoError(t, closeWithin(tracker, time.Second))
	record, err := tracker.Encode(t.Context(), footfall.Event{Name: "paid"})
	require.NoError(t, err, "after Close")
	assert.NotEmpty(t, record.Body)
	record, err = (*footfall.Tracker)(nil).Encode(t.Context(), footfall.Event{})
	require.NoError(t, err)
	assert.Empty(t, record.Body)
}
