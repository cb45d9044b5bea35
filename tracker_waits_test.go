package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestTrackDurableReturnsWhenTheAPIHasAcceptedTheEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 20 * time.Millisecond
		tracker := start(t, f)
		began := time.Now()
		require.NoError(t, tracker.TrackDurable(t.Context(), footfall.Event{Name: "order_paid", Props: []footfall.Prop{footfall.P("amount", 4999)}}))
		assert.Equal(t, 20*time.Millisecond, time.Since(began), "it does not wait for a batch")
		assert.Equal(t, uint64(1), tracker.Stats().Delivered)
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

func TestTrackDurableTreatsANilContextAsEndless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, newFakeNet())
		var none context.Context
		assert.NoError(t, tracker.TrackDurable(none, footfall.Event{Name: "order_paid"}))
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

func TestTrackDurableSendsTheEventOnItsPage(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	page := footfall.WithURL(t.Context(), "https://shop.example.com/basket")
	order := footfall.Event{Name: "order_paid", Props: []footfall.Prop{footfall.P("amount", 4999)}}
	require.NoError(t, tracker.TrackDurable(t.Context(), order))
	require.NoError(t, tracker.TrackDurable(page, order))
	order.SiteID, order.URL = "site_2", "https://shop.example.com/checkout"
	require.NoError(t, tracker.TrackDurable(page, order))
	events := tracker.Events()
	assert.Equal(t, []string{"https://example.com/", "https://shop.example.com/basket", "https://shop.example.com/checkout"}, urls(events))
	for i, site := range []string{footfalltest.SiteID, footfalltest.SiteID, "site_2"} {
		assert.Equal(t, site, events[i].SiteID)
		assert.Equal(t, "order_paid", events[i].Name)
		assert.Equal(t, map[string]any{"amount": 4999.0}, events[i].Props)
	}
}

func TestTrackDurableOfManyCallersGoesOutTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 20 * time.Millisecond
		tracker := start(t, f)
		results := make(chan error)
		for range 50 {
			go func() { results <- tracker.TrackDurable(t.Context(), footfall.Event{Name: "order_paid"}) }()
		}
		for range 50 {
			assert.NoError(t, <-results)
		}
		assert.Equal(t, uint64(50), tracker.Stats().Delivered)
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

func TestTrackDurableSaysWhyAnEventIsNotSafe(t *testing.T) {
	closing := func(tracker *footfall.Tracker) { go func() { _ = closeWithin(tracker, time.Second) }() }
	for _, tc := range []struct {
		name   string
		answer func(*http.Request, string) (*http.Response, error)
		event  string
		then   func(*footfall.Tracker)
		check  func(*testing.T, error)
		stats  footfall.Stats
	}{
		{"refused by the API", answerRefused(422), "paid", nil, func(t *testing.T, err error) {
			var refusal *footfall.APIError
			require.ErrorAs(t, err, &refusal)
			assert.Equal(t, 422, refusal.Status)
		}, footfall.Stats{Tracked: 1, Rejected: 1}},
		{"the caller waits no longer", answerHang, "paid", nil, func(t *testing.T, err error) {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorContains(t, err, "queued")
		}, footfall.Stats{Tracked: 1, Queued: 1}},
		{"given up when the tracker closed", answerDown, "paid", closing, func(t *testing.T, err error) {
			assert.ErrorContains(t, err, "was lost")
		}, footfall.Stats{Tracked: 1, Dropped: 1}},
		{"bad input", answerStatus(202), "", nil, func(t *testing.T, err error) {
			var bad *footfall.FieldError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, "name", bad.Field)
		}, footfall.Stats{Invalid: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeNet()
				f.set(tc.answer)
				tracker := start(t, f)
				if tc.then != nil {
					time.AfterFunc(100*time.Millisecond, func() { tc.then(tracker) })
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				tc.check(t, tracker.TrackDurable(ctx, footfall.Event{Name: tc.event}))
				got := tracker.Stats()
				got.QueuedBytes = 0
				assert.Equal(t, tc.stats, got)
				f.set(answerStatus(202))
				_ = closeWithin(tracker, time.Minute)
				balanced(t, tracker.Stats())
			})
		})
	}
}

func TestTrackDurableAfterCloseIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, newFakeNet())
		require.NoError(t, closeWithin(tracker, time.Second))
		assert.ErrorIs(t, tracker.TrackDurable(t.Context(), footfall.Event{Name: "paid"}), footfall.ErrClosed)
		assert.NoError(t, (*footfall.Tracker)(nil).TrackDurable(t.Context(), footfall.Event{Name: "paid"}))
	})
}

func TestTrackDurableFailsIfItsEventIsDroppedAsTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idle := idleTransport{}
		tracker := start(t, newFakeNet(), func(c *footfall.Config) {
			c.Transport, c.MaxQueueEvents, c.DropOldest = idle, 1, true
		})
		result := make(chan error)
		go func() { result <- tracker.TrackDurable(t.Context(), footfall.Event{Name: "first"}) }()
		synctest.Wait()
		track(t, tracker, 1)
		err := <-result
		assert.ErrorIs(t, err, footfall.ErrQueueFull)
		assert.EqualError(t, err, "footfall: the event was lost: queue full: the oldest event was dropped")
		_ = closeWithin(tracker, time.Second)
	})
}

// A Transport that returns early settles no more events.
func TestTrackDurableDoesNotWaitForATransportThatHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, newFakeNet(), func(c *footfall.Config) { c.Transport = deserter{} })
		assert.ErrorContains(t, tracker.TrackDurable(t.Context(), footfall.Event{Name: "paid"}), "transport has stopped")
		_ = closeWithin(tracker, time.Second)
	})
}

// idleTransport takes nothing.
type idleTransport struct{}

func (idleTransport) Deliver(ctx context.Context, src *footfall.Source) {
	select {
	case <-ctx.Done():
	case <-src.Closing():
	}
}

// deserter is a Transport that returns when the first event arrives.
type deserter struct{}

func (deserter) Deliver(ctx context.Context, src *footfall.Source) { src.Wait(ctx) }

// shelf is a Transport that stores events, and delivers them when the test says so.
type shelf struct {
	src  *footfall.Source
	kept int
	sell chan struct{}
}

func (s *shelf) Deliver(ctx context.Context, src *footfall.Source) {
	s.src = src
	one := make([]footfall.Record, 1)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for src.Take(one) == 1 {
			src.Settle(one, footfall.OutcomeStored, nil)
			s.kept++
		}
	}
}

func (s *shelf) Flush(ctx context.Context) error {
	select {
	case <-s.sell:
		s.src.Moved(s.kept, footfall.OutcomeDelivered)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestFlushOfAStoringTransportMeansDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{sell: make(chan struct{})}
		tracker := start(t, newFakeNet(), func(c *footfall.Config) { c.Transport = s })
		require.NoError(t, tracker.TrackDurable(t.Context(), footfall.Event{Name: "paid"}), "safe once it is stored")
		track(t, tracker, 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, tracker.Flush(ctx), context.DeadlineExceeded)
		assert.Equal(t, footfall.Stats{Tracked: 3, Stored: 3}, tracker.Stats())
		close(s.sell)
		require.NoError(t, tracker.Flush(t.Context()))
		assert.Equal(t, footfall.Stats{Tracked: 3, Delivered: 3}, tracker.Stats())
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// While the first attempt is under way nothing is known about the API, and the error says so.
func TestAnErrorBeforeTheFirstAnswerSaysThatThereWasNone(t *testing.T) {
	const none = "context deadline exceeded; no attempt has failed in the 300ms of this call"
	for call, want := range map[string]string{
		"TrackDurable": "footfall: the event is queued, but not delivered or stored yet: " + none,
		"Flush":        "footfall: flush: 1 event not settled yet: " + none,
		"Close":        "footfall: close: lost 1 of 1 events (delivered 0, rejected 0, stored 0): " + none,
	} {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeNet()
				f.set(answerHang)
				tracker := start(t, f)
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				var err error
				switch call {
				case "TrackDurable":
					err = tracker.TrackDurable(ctx, footfall.Event{Name: "paid"})
				case "Flush":
					track(t, tracker, 1)
					err = tracker.Flush(ctx)
				case "Close":
					track(t, tracker, 1)
					err = tracker.Close(ctx)
				}
				assert.EqualError(t, err, want)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				_ = closeWithin(tracker, time.Second)
			})
		})
	}
}

// An attempt that failed is the cause, and not the time that the call had.
func TestAnErrorAfterAnAnswerNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerStatus(503))
		tracker := start(t, f)
		track(t, tracker, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		err := tracker.Flush(ctx)
		assert.ErrorContains(t, err, "context deadline exceeded; the last attempt failed: the server answered 503")
		assert.NotContains(t, err.Error(), "no attempt")
		_ = closeWithin(tracker, time.Second)
	})
}

// siteList is the answer to GET /v1/sites of an account with n sites, whose ids are 1 to n.
func siteList(n int) string {
	sites := make([]string, n)
	for i := range sites {
		sites[i] = fmt.Sprintf(`{"id":"%d","domain":"%d.example","created_at":"2026-01-01T00:00:00Z","tracking_active":false}`, i+1, i+1)
	}
	return fmt.Sprintf(`{"data":[%s],"meta":{"total":%d}}`, strings.Join(sites, ","), n)
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	html := "<html><body>Welcome to nginx!</body></html>"
	notFound := `{"error":"not_found","message":"no such page","status":404}`
	for name, row := range map[string]struct {
		status       int
		body         string
		field, reads string // reads is a part of the error
	}{
		"the site is there":      {200, siteList(3), "", ""},
		"another site":           {200, siteList(1), "Config.SiteID", `the account has no site with this id; it has "1" (1.example)`},
		"many other sites":       {200, strings.Replace(siteList(12), `"2"`, `"x"`, 1), "Config.SiteID", `"10" (10.example) and 2 more`},
		"the domain of a site":   {200, strings.Replace(siteList(1), "1.example", "2", 1), "Config.SiteID", `this is the domain of the site "1": use that id`},
		"no site":                {200, siteList(0), "Config.SiteID", "it has none: add one in the dashboard of the service"},
		"a page":                 {200, html, "Config.BaseURL", "the server answered 200 without the documented JSON; something other than the API answers; check BaseURL"},
		"JSON of something else": {200, `{"status":"ok"}`, "Config.BaseURL", "lacks data"},
		"a page that is missing": {404, html, "Config.BaseURL", "something other than the API answers; check BaseURL; the answer begins with <html><body>Welcome to nginx!"},
		"a redirect":             {302, "", "Config.BaseURL", "a redirect, which is never followed"},
		"a refused key":          {401, `{"error":"unauthorized","message":"wrong key","status":401}`, "Config.APIKey", "footfall: check: Config.APIKey: the API answered 401 unauthorized: wrong key"},
		"a firewall":             {403, html, "Config.APIKey", "a firewall refuses this request"},
		"an API without sites":   {404, notFound, "", "not_found"},
		"too many requests":      {429, "", "", "429"},
		"an outage":              {503, html, "", "503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests []string
			server := testServer(t, func(w http.ResponseWriter, r *http.Request) {
				requests = append(requests, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
				w.WriteHeader(row.status)
				_, _ = io.WriteString(w, row.body)
			})
			tracker, err := footfall.New(footfall.Config{BaseURL: server.URL, APIKey: testKey, SiteID: "2", DefaultURL: "https://example.com/"})
			require.NoError(t, err)
			defer func() { assert.NoError(t, tracker.Close(t.Context())) }()
			err = tracker.Check(t.Context())
			assert.Equal(t, []string{"GET /v1/sites Bearer " + testKey}, requests, "one request")
			if row.reads == "" {
				require.NoError(t, err)
				return
			}
			failed, ok := errors.AsType[*footfall.CheckError](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, row.field, failed.Field)
			assert.Contains(t, err.Error(), row.reads)
			assert.True(t, strings.HasPrefix(err.Error(), "footfall: check: "+row.field), err)
			assert.Equal(t, 1, strings.Count(err.Error(), "footfall:"), err)
			assert.NotContains(t, err.Error(), testKey)
			assert.NotContains(t, err.Error(), "wrong key; check", "the field is named once")
			assert.Equal(t, row.field == "Config.SiteID" || row.body == notFound, errors.Is(err, footfall.ErrNotFound))
			if row.field != "Config.SiteID" {
				assert.Equal(t, err, clientOf(t, server.URL, func(c *footfall.ClientConfig) { c.APIKey = testKey }).Check(t.Context()))
			}
		})
	}
}

func TestCheckOfAnAddressWhereNothingAnswers(t *testing.T) {
	t.Parallel()
	err := clientOf(t, "http://127.0.0.1:1").Check(t.Context())
	failed, ok := errors.AsType[*footfall.CheckError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, "Config.BaseURL", failed.Field)
	assert.ErrorContains(t, err, "refused")
}

func TestCheckEndsWithItsContextAndItsTimeout(t *testing.T) {
	t.Parallel()
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	slow := func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush() // the header
		<-r.Context().Done()
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	past, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		ctx     context.Context
		want    error
		field   string
		reads   string
	}{
		"no answer":         {silent, t.Context(), context.DeadlineExceeded, "Config.BaseURL", "s: see that the service listens on this port and that no firewall is in the way, and look at its log"},
		"a slow answer":     {slow, t.Context(), context.DeadlineExceeded, "", "context deadline exceeded"},
		"canceled":          {silent, canceled, context.Canceled, "", "context canceled"},
		"its time was over": {silent, past, context.DeadlineExceeded, "", "context deadline exceeded"},
	} {
		cfg := footfall.Config{BaseURL: testServer(t, row.handler).URL, APIKey: testKey, SiteID: "1", AttemptTimeout: 500 * time.Millisecond}
		tracker, err := footfall.New(cfg)
		require.NoError(t, err)
		err = tracker.Check(row.ctx)
		assert.NoError(t, tracker.Close(t.Context()))
		require.ErrorIs(t, err, row.want, name)
		failed, _ := errors.AsType[*footfall.CheckError](err)
		assert.Equal(t, row.field, failed.Field, name)
		assert.Truef(t, strings.HasSuffix(err.Error(), row.reads), "%s: %v", name, err)
		assert.Equal(t, row.field != "", strings.Contains(err.Error(), "no answer in "), err)
	}
}

// What Check needs is not used by a tracker with a Transport, and may be missing.
func TestCheckBesideATransport(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	for want, cfg := range map[string]footfall.Config{
		"":                           api.Config(),
		"footfall: Config.BaseURL: ": {SiteID: "1"},
	} {
		cfg.Transport = transportFunc(func(context.Context, *footfall.Source) {})
		tracker, err := footfall.New(cfg)
		require.NoError(t, err)
		if err = tracker.Check(t.Context()); want == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, want)
		}
		assert.NoError(t, tracker.Close(t.Context()))
	}
}

func TestCheckOfATrackerThatDoesNothing(t *testing.T) {
	t.Parallel()
	off, err := footfall.New(footfall.Config{Disabled: true})
	require.NoError(t, err)
	for _, tracker := range []*footfall.Tracker{nil, off} {
		assert.NoError(t, tracker.Check(t.Context()))
	}
}

func TestErrorsOfCallsThatRanOutOfTimeNameTheLastAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(*http.Request, string) (*http.Response, error)
		want   string
	}{
		"a refused key":        {answerRefused(401), "; check Config.APIKey"},
		"the same, from proxy": {answerStatus(401), "the key is refused; check Config.APIKey"},
		"a dead API":           {answerDown, "connection refused"},
		"a hang":               {answerHang, "no answer in 500ms"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, j := newFakeNet(), &journal{}
				f.set(tc.answer)
				tracker := start(t, f, j.into, func(c *footfall.Config) { c.AttemptTimeout = 500 * time.Millisecond })
				track(t, tracker, 3)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err := tracker.Flush(ctx)
				late, ok := errors.AsType[*footfall.FlushError](err)
				require.True(t, ok, "%v", err)
				assert.Equal(t, uint64(3), late.Unsettled)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, tc.want)
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err = tracker.TrackDurable(ctx, footfall.Event{Name: "paid"})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, tc.want)
				line, _, _ := strings.Cut(j.String(), "\n")
				assert.Equal(t, 1, strings.Count(line, tc.want), line)
				err = closeWithin(tracker, 2*time.Second)
				require.Error(t, err)
				assert.Equal(t, 1, strings.Count(err.Error(), tc.want), err)
			})
		})
	}
}

func TestFlushThatRunsOutOfTimeWithAnAPIThatWorksNamesNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerStatus(503))
		tracker := start(t, f)
		track(t, tracker, 1)
		time.Sleep(2 * time.Second)
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(t.Context()))
		f.latency = time.Second
		track(t, tracker, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		late, ok := errors.AsType[*footfall.FlushError](tracker.Flush(ctx))
		require.True(t, ok)
		require.NoError(t, late.Cause)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// deaf is a Transport that takes no event.
type deaf struct{}

func (deaf) Deliver(_ context.Context, src *footfall.Source) { <-src.Closing() }

func TestTrackDurableThatRunsOutOfTimeKeepsNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, err := footfall.New(footfall.Config{SiteID: "site_1", DefaultURL: "https://example.com/", Transport: deaf{}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, tracker.TrackDurable(ctx, footfall.Event{Name: "paid"}), context.Canceled)
		assert.Zero(t, reflect.ValueOf(tracker).Elem().FieldByName("queue").Elem().FieldByName("waiters").Len())
		assert.Error(t, tracker.Close(t.Context()))
	})
}
