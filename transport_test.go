package footfall_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// onSocket makes a tracker that delivers to api over a real socket, in a hurry.
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

func TestEventArrivesAsTheContractSays(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	tracker := onSocket(t, api)
	require.NoError(t, tracker.TrackEvent(context.Background(), footfall.Event{
		Name: "checkout_completed", URL: "https://shop.example.com/thanks?x=<1>&y=2",
		Props: []footfall.Prop{footfall.P("plan", "pro"), footfall.P("amount", 4999)},
	}))
	flush(t, tracker)
	require.Len(t, api.Requests(), 1)
	r := api.Requests()[0]
	assert.Equal(t, `{"site_id":"site_test","name":"checkout_completed","url":"https://shop.example.com/thanks?x=<1>&y=2","props":{"plan":"pro","amount":4999}}`, string(r.Body))
	assert.Equal(t, "Bearer "+footfalltest.Key, r.Header.Get("Authorization"))
	assert.Equal(t, "application/json", r.Header.Get("Content-Type"))
	assert.Equal(t, "footfall-go", r.Header.Get("User-Agent"))
	assert.Equal(t, uint64(1), tracker.Stats().Delivered)
}

func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	tracker := onSocket(t, api, func(c *footfall.Config) { c.MaxInFlight = 4 })
	for range 20 {
		track(t, tracker, 50)
		flush(t, tracker)
	}
	assert.Len(t, api.Events(), 1000)
	assert.LessOrEqual(t, api.Connections(), 4)
}

// A long body that nobody reads would cost a connection per event.
func TestLongAnswersDoNotCostConnections(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	api.Always(footfalltest.Body(202, "text/plain", strings.Repeat("x", 100<<10)))
	tracker := onSocket(t, api, func(c *footfall.Config) { c.MaxInFlight = 1 })
	track(t, tracker, 50)
	flush(t, tracker)
	assert.Equal(t, uint64(50), tracker.Stats().Delivered)
	assert.Equal(t, 1, api.Connections())
}

// An endless answer is cut off at the bound: it costs its connection, not the tracker.
func TestEndlessAnswerIsReadToABound(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(202)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	cfg := footfall.Config{BaseURL: server.URL, APIKey: testKey, SiteID: "s", DefaultURL: "https://example.com/", FlushInterval: time.Millisecond}
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	track(t, tracker, 3)
	flush(t, tracker)
	assert.Equal(t, uint64(3), tracker.Stats().Delivered)
	require.NoError(t, closeWithin(tracker, time.Second))
}

func TestConnectionBrokenBeforeTheAnswerIsRetriedWithTheSameKey(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	api.Next(footfalltest.AcceptThenReset(), footfalltest.Reset(), footfalltest.AcceptThenReset())
	tracker := onSocket(t, api, func(c *footfall.Config) { c.MaxInFlight = 1 })
	track(t, tracker, 1)
	flush(t, tracker)
	requests := api.Requests()
	require.GreaterOrEqual(t, len(requests), 4)
	for _, r := range requests {
		assert.Equal(t, requests[0].ID, r.ID)
		assert.Equal(t, requests[0].Body, r.Body)
	}
	assert.Len(t, api.Events(), 1, "an API that heeds the key counts it once")
	assert.Equal(t, uint64(1), tracker.Stats().Delivered)
}

func TestAnswersThatRejectAreReportedAndNeverRetried(t *testing.T) {
	t.Parallel()
	answers := map[string]footfalltest.Answer{
		"400":                  footfalltest.Status(400),
		"404 of the API":       footfalltest.Status(404),
		"409":                  footfalltest.Status(409),
		"413":                  footfalltest.Status(413),
		"415":                  footfalltest.Status(415),
		"422":                  footfalltest.Status(422),
		"418":                  footfalltest.Status(418),
		"202 accepted:false":   footfalltest.Body(202, "application/json", `{"accepted":false}`),
		"400 without the body": footfalltest.Body(400, "text/plain", "no"),
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := footfalltest.NewAPI(t)
			api.Next(answer)
			var mu sync.Mutex
			var reported []error
			tracker := onSocket(t, api, func(c *footfall.Config) {
				c.OnError = func(err error) {
					mu.Lock()
					defer mu.Unlock()
					reported = append(reported, err)
				}
			})
			track(t, tracker, 1)
			flush(t, tracker)
			track(t, tracker, 1)
			flush(t, tracker)
			assert.Len(t, api.Requests(), 2)
			s := tracker.Stats()
			assert.Equal(t, []uint64{1, 1}, []uint64{s.Rejected, s.Delivered})
			require.Len(t, reported, 1)
			var rejected *footfall.RejectedError
			require.ErrorAs(t, reported[0], &rejected)
			assert.Equal(t, api.Requests()[0].ID, rejected.ID.String())
			assert.Equal(t, api.Requests()[0].Body, rejected.Body)
			var apiErr *footfall.APIError
			assert.ErrorAs(t, reported[0], &apiErr)
		})
	}
}

func TestOddAnswersWith202AreDeliveries(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"empty": "", "not JSON": "ok", "another shape": `{"queued":1}`, "null": `{"accepted":null}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := footfalltest.NewAPI(t)
			api.Next(footfalltest.Body(202, "text/plain", body))
			tracker := onSocket(t, api)
			track(t, tracker, 1)
			flush(t, tracker)
			assert.Equal(t, uint64(1), tracker.Stats().Delivered)
			assert.Len(t, api.Requests(), 1)
		})
	}
}

func TestRedirectsAreNeverFollowed(t *testing.T) {
	t.Parallel()
	var followed []string
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		followed = append(followed, r.Header.Get("Authorization"))
	}))
	t.Cleanup(thief.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		api := footfalltest.NewAPI(t)
		api.Next(footfalltest.Redirect(status, thief.URL+"/v1/events"))
		tracker := onSocket(t, api)
		track(t, tracker, 1)
		flush(t, tracker)
		assert.Equal(t, uint64(1), tracker.Stats().Delivered, "held, and sent to the API again")
	}
	assert.Empty(t, followed)
}

func TestPanicInTheApplicationsHooksDoesNotReachTheApplication(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	api.Next(footfalltest.Status(422))
	panics := 3
	tracker := onSocket(t, api, func(c *footfall.Config) {
		c.OnError = func(error) { panic("in OnError") }
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
	tracker, err := footfall.New(footfall.Config{SiteID: "s", DefaultURL: "https://example.com/", Transport: broken{}, Logger: (&journal{}).logger()})
	require.NoError(t, err)
	track(t, tracker, 3)
	var account *footfall.CloseError
	require.ErrorAs(t, closeWithin(tracker, time.Second), &account)
	assert.Equal(t, uint64(3), account.Lost)
}

type broken struct{}

func (broken) Deliver(context.Context, footfall.Source) { panic("broken transport") }

// What the default transport offers in the handshake decides the protocol.
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

// Everything at once, on real sockets: nothing lost, nothing counted twice.
func TestHostileAPILosesNothing(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	for range 30 {
		api.Next(footfalltest.Status(500), footfalltest.Accept(), footfalltest.Reset(), footfalltest.RetryAfter("0"),
			footfalltest.AcceptThenReset(), footfalltest.Accept(), footfalltest.Body(200, "text/html", "<h1>login</h1>"),
			footfalltest.Status(401), footfalltest.Delay(5*time.Millisecond, footfalltest.Accept()))
	}
	tracker := onSocket(t, api)
	track(t, tracker, 500)
	flush(t, tracker)
	assert.Equal(t, uint64(500), tracker.Stats().Delivered)
	assert.Len(t, api.Events(), 500)
}

// A server that answers before it has read the body must not get another event's
// bytes: what is sent belongs to the request.
func TestEarlyAnswersDoNotMixEvents(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go answerEarly(listener)
	cfg := footfall.Config{BaseURL: "http://" + listener.Addr().String(), APIKey: testKey, SiteID: "s", DefaultURL: "https://example.com/", FlushInterval: time.Millisecond}
	quiet(&cfg)
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	for range 200 {
		require.NoError(t, tracker.Track(context.Background(), "tested", footfall.P("p", strings.Repeat("x", 20_000))))
	}
	flush(t, tracker)
	assert.Equal(t, uint64(200), tracker.Stats().Delivered)
	require.NoError(t, closeWithin(tracker, time.Second))
}

// answerEarly answers each connection's first request on seeing its header, and
// closes.
func answerEarly(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_, _ = bufio.NewReader(conn).ReadString('\n')
			fmt.Fprint(conn, "HTTP/1.1 202 Accepted\r\nContent-Length: 17\r\nConnection: close\r\n\r\n{\"accepted\":true}")
		}()
	}
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
			go func() { // as net/http's writeLoop may
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
		f.set(answerStatus(422))
		var kept []*footfall.RejectedError
		tracker := start(t, f, func(c *footfall.Config) {
			c.MaxInFlight = 1
			c.OnError = func(err error) { kept = append(kept, err.(*footfall.RejectedError)) }
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
