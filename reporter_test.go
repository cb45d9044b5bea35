package footfall_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// enabledFails is a slog.Handler whose Enabled panics.
type enabledFails struct {
	slog.Handler
	fail func()
}

func (h enabledFails) Enabled(context.Context, slog.Level) bool { h.fail(); return true }

// handleFails is a slog.Handler whose Handle panics.
type handleFails struct {
	slog.Handler
	fail func()
}

func (h handleFails) Handle(ctx context.Context, r slog.Record) error {
	h.fail()
	return h.Handler.Handle(ctx, r)
}

// Senders, the timer for events that were not accepted, and Close write to the log.
func TestLogThatFailsStopsNeitherDeliveryNorClose(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(){"panic": func() { panic("in the log") }, "runtime.Goexit": runtime.Goexit} {
		for method, handler := range map[string]slog.Handler{
			"Enabled": enabledFails{slog.DiscardHandler, fail},
			"Handle":  handleFails{(&journal{}).Logger().Handler(), fail},
		} {
			t.Run(name+" in "+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFakeNet()
					f.set(answerStatus(401))
					tracker := start(t, f, func(c *footfall.Config) { c.Logger = slog.New(handler) })
					track(t, tracker, 100)
					assert.Error(t, tracker.Track(context.Background(), ""))
					time.Sleep(time.Minute)
					assert.Error(t, tracker.Track(context.Background(), ""))
					f.set(answerStatus(202))
					require.NoError(t, closeWithin(tracker, time.Minute))
					assert.Equal(t, footfall.Stats{Tracked: 100, Delivered: 100, Invalid: 2}, tracker.Stats())
				})
			})
		}
	}
}

func TestErrorsAreLoggedAlthoughEnabledFails(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(){"panic": func() { panic("in the log") }, "runtime.Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, j := newFakeNet(), &journal{}
				f.set(answerStatus(401))
				tracker := start(t, f, func(c *footfall.Config) { c.Logger = slog.New(enabledFails{j.Logger().Handler(), fail}) })
				track(t, tracker, 1)
				time.Sleep(time.Minute)
				assert.Equal(t, 1, j.Lines(slog.LevelError), j.String())
				f.set(answerStatus(202))
				require.NoError(t, closeWithin(tracker, time.Minute))
			})
		})
	}
}

func TestEventsTrackedAfterCloseAreNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		tracker := start(t, newFakeNet(), j.into)
		assert.Error(t, tracker.Track(context.Background(), ""))
		require.NoError(t, closeWithin(tracker, time.Second))
		told := j.String()
		for range 3 {
			assert.ErrorIs(t, tracker.Track(context.Background(), "late"), footfall.ErrClosed)
			assert.Error(t, tracker.Track(context.Background(), ""))
			time.Sleep(time.Hour)
		}
		assert.Equal(t, told, j.String())
		assert.Equal(t, footfall.Stats{Invalid: 4, Refused: 3}, tracker.Stats())
	})
}

func TestAnswersAfterCloseAreNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		late := roundTripper(func(*http.Request) (*http.Response, error) {
			time.Sleep(time.Hour) // even if the context has ended
			return response(401, nil, ""), nil
		})
		tracker := start(t, late, j.into)
		track(t, tracker, 1)
		require.Error(t, closeWithin(tracker, 2*time.Second))
		logged := j.String()
		assert.NotContains(t, logged, "401")
		time.Sleep(2 * time.Hour)
		assert.Equal(t, logged, j.String())
	})
}

func TestLineBehindABlockedLogIsNotWrittenAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, free := &journal{}, make(chan struct{})
		handler := handleFails{j.Logger().Handler(), func() { <-free }}
		tracker := start(t, newFakeNet(), func(c *footfall.Config) { c.Logger = slog.New(handler) })
		assert.Error(t, tracker.Track(context.Background(), ""))
		synctest.Wait() // the line is in progress
		assert.Error(t, tracker.Track(context.Background(), ""))
		require.NoError(t, closeWithin(tracker, time.Minute))
		close(free)
		synctest.Wait()
		assert.Equal(t, 1, j.Lines(slog.LevelWarn), "the one that was begun before: %s", j)
	})
}

// The sender that delivers the first event after an outage logs that the API accepts events
// again.
func TestAnEventIsSettledBeforeItsAnswerIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerStatus(503))
		told := make(chan footfall.Stats, 10)
		var tracker *footfall.Tracker
		handler := handleFails{slog.DiscardHandler, func() { told <- tracker.Stats() }}
		tracker = start(t, f, func(c *footfall.Config) { c.Logger = slog.New(enabledFails{handler, func() {}}) })
		track(t, tracker, 1)
		time.Sleep(time.Minute)
		require.Equal(t, footfall.Stats{Tracked: 1, Queued: 1}, counts(<-told))
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(t.Context()))
		require.Equal(t, footfall.Stats{Tracked: 1, Delivered: 1}, counts(<-told))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// stuck is a writer that blocks until free is closed.
type stuck struct{ free chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	<-s.free
	return len(p), nil
}

func TestBlockedLogDelaysNeitherTrackNorClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		log := stuck{make(chan struct{})}
		tracker := start(t, f, func(c *footfall.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
		began := time.Now()
		for range 100 {
			assert.Error(t, tracker.Track(context.Background(), ""))
		}
		assert.Zero(t, time.Since(began))
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.LessOrEqual(t, time.Since(began), time.Second)
		close(log.free)
	})
}

func TestBlockedLogDelaysCloseByATenthOfASecondAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := stuck{make(chan struct{})}
		tracker := start(t, newFakeNet(), func(c *footfall.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
		assert.Error(t, tracker.Track(context.Background(), ""))
		began := time.Now()
		require.NoError(t, closeWithin(tracker, 50*time.Millisecond))
		assert.Equal(t, 150*time.Millisecond, time.Since(began))
		close(log.free)
	})
}

func TestRefusedEventsAreLoggedAtMostOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		tracker := start(t, f, j.into)
		for range 600 {
			_ = tracker.Track(context.Background(), "")
			time.Sleep(time.Second)
		}
		assert.InDelta(t, 10, j.Lines(slog.LevelWarn), 1, j.String())
		assert.Equal(t, footfall.Stats{Invalid: 600}, tracker.Stats())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestEventsNotAcceptedAreALineAtOnceAndThenOneAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		tracker := start(t, newFakeNet(), j.into)
		_ = tracker.Track(context.Background(), "")
		synctest.Wait()
		assert.Equal(t, 1, j.Lines(slog.LevelWarn), "at once")
		assert.Contains(t, j.String(), "events were refused, rejected or dropped")
		for range 10 * 60 * 10 {
			_ = tracker.Track(context.Background(), "")
			time.Sleep(100 * time.Millisecond)
		}
		assert.InDelta(t, 11, j.Lines(slog.LevelWarn), 1)
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// A FieldError itself does not have the name, because an application may show it to a client.
func TestTheLineAboutARefusedEventNamesIt(t *testing.T) {
	long := strings.Repeat("n", 121)
	for name, row := range map[string]struct {
		event  string
		prop   footfall.Prop
		logged string
	}{
		"a bad value":    {"order_paid", footfall.P("v", math.NaN()), `"footfall: event order_paid: props[\"v\"]: NaN and infinities are not numbers in JSON"`},
		"a secret value": {"order_paid", footfall.P("v", "secret\x00"), `"footfall: event order_paid: props[\"v\"]: value is not text: it contains a NUL character"`},
		"no word":        {"Order paid\n", footfall.P("", 1), `"footfall: event \"Order paid\\n\": props: a key is empty"`},
		"a long name":    {long, footfall.P("v", 1), `"footfall: event ` + long[:100] + `: name: longer than 120 characters (Config.Limits.Name)"`},
		"no name":        {"", footfall.P("v", 1), `"footfall: name: empty"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &journal{}
				tracker := start(t, newFakeNet(), j.into)
				err := tracker.Track(context.Background(), row.event, row.prop)
				_, ok := errors.AsType[*footfall.FieldError](err)
				assert.True(t, ok, err)
				if row.event != "" {
					assert.NotContains(t, err.Error(), strings.TrimSpace(row.event))
				}
				require.NoError(t, closeWithin(tracker, time.Second))
				assert.Contains(t, j.String(), "last_error="+row.logged)
				assert.NotContains(t, j.String(), "secret")
			})
		})
	}
}

func TestTheLineAboutEventsNamesTheEventOfItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.set(answerRefused(422))
		tracker := start(t, f, j.into)
		assert.Error(t, tracker.Track(context.Background(), "bad", footfall.P("", 1)))
		synctest.Wait() // the first line is written
		assert.Error(t, tracker.Track(context.Background(), "bad", footfall.P("", 1)))
		require.NoError(t, tracker.Track(context.Background(), "good"))
		require.NoError(t, tracker.Flush(t.Context()))
		require.NoError(t, closeWithin(tracker, time.Second))
		assert.Contains(t, j.String(), `invalid=1 refused=0 dropped=0 rejected=1 last_error="footfall: event good of `)
		assert.Equal(t, 1, strings.Count(j.String(), "event bad"), j.String())
	})
}

func TestPanicInOnErrorIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.set(answerRefused(422))
		tracker := start(t, f, j.into, func(c *footfall.Config) { c.OnRejected = func(*footfall.RejectedError) { panic("boom") } })
		track(t, tracker, 1)
		require.NoError(t, closeWithin(tracker, time.Second))
		assert.Contains(t, j.String(), "Config.OnRejected has failed")
		assert.Contains(t, j.String(), "panic: boom")
	})
}

func TestOnErrorThatEndsItsGoroutineStopsNeitherDeliveryNorClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.set(answerRefused(422))
		tracker := start(t, f, j.into, func(c *footfall.Config) { c.OnRejected = func(*footfall.RejectedError) { runtime.Goexit() } })
		track(t, tracker, 100)
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Equal(t, footfall.Stats{Tracked: 100, Rejected: 100}, tracker.Stats())
		assert.Contains(t, j.String(), "runtime.Goexit was called")
	})
}

// counts returns s without bytes.
func counts(s footfall.Stats) footfall.Stats {
	s.QueuedBytes = 0
	return s
}

const redactedLine = "a value was redacted; add the key to Config.AllowPIIKeys if it is no personal data"

// redacting runs test with a tracker whose log it can read.
func redacting(t *testing.T, test func(tracker *footfall.Tracker, log *journal), change ...func(*footfall.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log journal
		tracker := start(t, newFakeNet(), append(change, log.into)...)
		test(tracker, &log)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestARedactedValueLeavesALineAnHour(t *testing.T) {
	redacting(t, func(tracker *footfall.Tracker, log *journal) {
		ctx := context.Background()
		for range 3 {
			require.NoError(t, tracker.Track(ctx, "app_started", footfall.P("n", 1), footfall.P("version", "1.2.3.4")))
			synctest.Wait()
		}
		assert.Equal(t, 1, strings.Count(log.String(), redactedLine), log.String())
		assert.Contains(t, log.String(), `key=version event=app_started`)
		assert.NotContains(t, log.String(), "1.2.3.4")

		require.NoError(t, tracker.Track(ctx, "paid", footfall.P("card", int64(4111111111111111)), footfall.P("version", "1.2.3.4")))
		time.Sleep(time.Minute)
		synctest.Wait() // the line is due at this instant
		assert.Equal(t, 2, strings.Count(log.String(), redactedLine), "another key has its own line: %s", log.String())
		assert.Contains(t, log.String(), `key=card event=paid`)
		assert.NotContains(t, log.String(), "4111")

		time.Sleep(time.Hour)
		require.NoError(t, tracker.Track(ctx, "app_started", footfall.P("version", "1.2.3.4")))
		synctest.Wait()
		assert.Equal(t, 3, strings.Count(log.String(), redactedLine), "an hour later")
	})
}

func TestNothingRedactedLeavesNoLine(t *testing.T) {
	for name, change := range map[string]func(*footfall.Config){
		"exempt": func(c *footfall.Config) { c.AllowPIIKeys = []string{"version"} },
		"off":    func(c *footfall.Config) { c.AllowPII = true },
	} {
		t.Run(name, func(t *testing.T) {
			redacting(t, func(tracker *footfall.Tracker, log *journal) {
				require.NoError(t, tracker.Track(context.Background(), "x", footfall.P("version", "1.2.3.4")))
				time.Sleep(time.Minute)
				assert.NotContains(t, log.String(), "redacted")
			}, change)
		})
	}
	redacting(t, func(tracker *footfall.Tracker, log *journal) {
		require.NoError(t, tracker.Track(context.Background(), "x", footfall.P("a", "joe@example.com"), footfall.P("a", "b")))
		time.Sleep(time.Minute)
		assert.NotContains(t, log.String(), "redacted", "only the last of a key is sent")
	})
}

func TestLinesAboutRedactedValuesAreBounded(t *testing.T) {
	redacting(t, func(tracker *footfall.Tracker, log *journal) {
		for i := range 1000 {
			require.NoError(t, tracker.Track(context.Background(), "x", footfall.P(fmt.Sprint("key", i), "joe@example.com")))
		}
		time.Sleep(2 * time.Minute)
		assert.Equal(t, 100, strings.Count(log.String(), redactedLine))
		assert.Equal(t, 1, strings.Count(log.String(), "values of many more props were redacted"))

		time.Sleep(time.Hour)
		require.NoError(t, tracker.Track(context.Background(), "x", footfall.P("another", "joe@example.com")))
		time.Sleep(time.Minute)
		assert.Contains(t, log.String(), "key=another", "the others' hour is over")
	})
}

func TestALongKeyIsCutInTheLog(t *testing.T) {
	redacting(t, func(tracker *footfall.Tracker, log *journal) {
		long := strings.Repeat("k", 1000)
		require.NoError(t, tracker.Track(context.Background(), long, footfall.P(long, "joe@example.com")))
		time.Sleep(time.Minute)
		assert.Contains(t, log.String(), "key="+long[:100]+" event="+long[:100]+"\n")
	}, func(c *footfall.Config) { c.Limits.Name, c.Limits.PropKey = 1000, 1000 })
}

func TestARedactedPageLeavesALineOfLevelInfo(t *testing.T) {
	var log journal
	mux := http.NewServeMux()
	mux.HandleFunc("GET /user/{name}", func(http.ResponseWriter, *http.Request) {})
	site := setup{config: log.into, rules: []footfall.Rule{{Route: "GET /user/{name}", Event: "user_viewed"}}}.open(t, mux)
	for range 3 {
		site.get(t, "/user/joe@example.com?utm_source=x")
	}
	site.events()
	assert.Eventually(t, func() bool { return strings.Contains(log.String(), "event=user_viewed") }, 10*time.Second, time.Millisecond)
	assert.Equal(t, 1, log.Lines(slog.LevelInfo), log.String())
	assert.Contains(t, log.String(), "page="+shopURL+"/user/%7Bname%7D event=user_viewed", "the segment that was replaced")
	assert.NotContains(t, log.String(), "joe@example.com")
}

// serveHandshakes reports which protocols clients offer, and closes the connections.
func serveHandshakes(listener net.Listener, offered chan<- []string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		server := tls.Server(conn, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			select {
			case offered <- hello.SupportedProtos:
			default:
			}
			return nil, fmt.Errorf("enough seen")
		}})
		_ = server.Handshake()
		conn.Close()
	}
}

func TestKeyNeverAppearsInErrorsOfTheNetwork(t *testing.T) {
	t.Parallel()
	client, err := footfall.NewClient(footfall.ClientConfig{
		BaseURL: "https://api.example.com", APIKey: testKey,
		HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("could not send %v", r.Header)
		})},
	})
	require.NoError(t, err)
	_, err = client.Sites(t.Context())
	require.Error(t, err)
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", err, err, err), testKey)
}

func TestKeyNeverAppearsInAPrintedConfig(t *testing.T) {
	t.Parallel()
	j := &journal{}
	for _, cfg := range []any{
		footfall.Config{APIKey: testKey, BaseURL: "https://api.example.com"},
		&footfall.Config{APIKey: testKey},
		footfall.ClientConfig{APIKey: testKey},
		struct{ Footfall footfall.Config }{footfall.Config{APIKey: testKey}},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			fmt.Fprintf(j, verb+"\n", cfg)
		}
		text, err := json.Marshal(cfg)
		require.NoError(t, err)
		fmt.Fprintln(j, string(text))
		j.Logger().Info("config", "cfg", cfg)
		slog.New(slog.NewJSONHandler(j, nil)).Info("config", "cfg", cfg)
	}
	assert.NotContains(t, j.String(), testKey)
}

func TestPlainHTTPIsRefusedUnlessLoopbackOrAllowed(t *testing.T) {
	t.Parallel()
	for base, allowed := range map[string]bool{
		"http://api.example.com": false, "http://10.0.0.1": false, "http://localhost.example.com": false,
		"http://127.0.0.1:8080": true, "http://[::1]:8080": true, "http://localhost": true, "https://api.example.com": true,
	} {
		cfg := footfall.ClientConfig{BaseURL: base, APIKey: testKey}
		_, err := footfall.NewClient(cfg)
		assert.Equal(t, allowed, err == nil, "%s: %v", base, err)
		cfg.AllowHTTP = true
		_, err = footfall.NewClient(cfg)
		assert.NoError(t, err, base)
	}
}

// The letter e is in nearly every error.
func TestAKeyOfOneLetterLeavesErrorsReadable(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"error":"unavailable","message":"the key e is known, the store is away","status":503}`, "the key e is known, the store is away"} {
		server := testServer(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, body)
		})
		client, err := footfall.NewClient(footfall.ClientConfig{BaseURL: server.URL, APIKey: "e"})
		require.NoError(t, err)
		_, err = client.Sites(t.Context())
		assert.ErrorContains(t, err, "the key [key] is known, the store is away")
	}
	client, err := footfall.NewClient(footfall.ClientConfig{BaseURL: "http://127.0.0.1:1", APIKey: "e"})
	require.NoError(t, err)
	_, err = client.Sites(t.Context())
	assert.ErrorIs(t, err, syscall.ECONNREFUSED, "the error of the network stays what it is")
	assert.NotContains(t, err.Error(), "[key]")
}
