package footfall_test

import (
	"context"
	"math"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// The clock of a bubble advances only while all goroutines are blocked. A Track that waits
// would advance it, or never return.
func TestTrackNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerHang)
		tracker := start(t, f)
		before := time.Now()
		for range 100_000 {
			_ = tracker.Track(context.Background(), "tested") // the queue holds half of them
		}
		assert.Zero(t, time.Since(before))
		assert.Equal(t, uint64(50_000), tracker.Stats().Refused)
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestTrackIgnoresCancellationAndTakesValues(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	ctx, cancel := context.WithCancel(footfall.WithURL(context.Background(), "https://example.com/basket"))
	cancel()
	require.NoError(t, tracker.Track(ctx, "tested"))
	require.Len(t, tracker.Events(), 1)
	assert.Equal(t, "https://example.com/basket", tracker.Events()[0].URL)
}

func TestTrackKeepsNothingOfTheCaller(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	value := []byte("first")
	props := []footfall.Prop{footfall.P("k", string(value))}
	require.NoError(t, tracker.Track(context.Background(), "tested", props...))
	props[0] = footfall.P("k", "second")
	assert.Equal(t, "first", tracker.Events()[0].Props["k"])
}

func TestTrackWithoutContextDoesNotPanic(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	var none context.Context
	assert.NoError(t, tracker.Track(none, "tested"))
	assert.ErrorIs(t, footfall.Track(none, "tested"), footfall.ErrNoTracker)
}

// Bad input returns an error that names the field. It is counted, and nothing is sent.
func TestTrackRefusesBadInputAndNamesTheField(t *testing.T) {
	t.Parallel()
	ok := footfall.Event{Name: "n", URL: "https://example.com/"}
	tests := map[string]struct {
		change func(*footfall.Event)
		field  string
	}{
		"empty name":     {func(e *footfall.Event) { e.Name = "" }, "name"},
		"blank site":     {func(e *footfall.Event) { e.SiteID = " " }, "site_id"},
		"relative URL":   {func(e *footfall.Event) { e.URL = "/pricing" }, "url"},
		"javascript URL": {func(e *footfall.Event) { e.URL = "javascript:alert(1)" }, "url"},
		"invalid UTF-8":  {func(e *footfall.Event) { e.Name = "\xff" }, "name"},
		"NaN":            {func(e *footfall.Event) { e.Props = []footfall.Prop{footfall.P("p", math.NaN())} }, `props["p"]`},
		"a 2 MB prop":    {func(e *footfall.Event) { e.Props = []footfall.Prop{footfall.P("p", strings.Repeat("x", 2<<20))} }, `props["p"]`},
		"empty key":      {func(e *footfall.Event) { e.Props = []footfall.Prop{footfall.P("", 1)} }, "props"},
		"large as a whole": {func(e *footfall.Event) {
			for i := range 20 {
				e.Props = append(e.Props, footfall.P(string(rune('a'+i)), strings.Repeat("x", 2000)))
			}
		}, "event"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t, quiet)
			e := ok
			tt.change(&e)
			var bad *footfall.FieldError
			require.ErrorAs(t, tracker.TrackEvent(context.Background(), e), &bad)
			assert.Equal(t, tt.field, bad.Field)
			assert.Equal(t, footfall.Stats{Invalid: 1}, tracker.Stats())
			assert.Empty(t, tracker.Events())
		})
	}
}

func TestTrackWithoutAnyURLSaysWhatToDo(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, quiet, func(c *footfall.Config) { c.DefaultURL = "" })
	err := tracker.Track(context.Background(), "tested")
	require.ErrorIs(t, err, footfall.ErrNoURL)
	assert.Contains(t, err.Error(), "DefaultURL")
}

func TestDisabledAndNilTrackersDoNothing(t *testing.T) {
	t.Parallel()
	disabled, err := footfall.New(footfall.Config{Disabled: true})
	require.NoError(t, err)
	for name, tracker := range map[string]*footfall.Tracker{"disabled": disabled, "nil": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			assert.NoError(t, tracker.Track(ctx, ""))
			assert.NoError(t, tracker.TrackEvent(ctx, footfall.Event{}))
			assert.NoError(t, footfall.Track(footfall.WithTracker(ctx, tracker), "x"))
			assert.NoError(t, tracker.Flush(ctx))
			assert.NoError(t, tracker.Close(ctx))
			assert.Zero(t, tracker.Stats())
		})
	}
}

func TestTrackAllocatesNothing(t *testing.T) {
	tracker := footfalltest.New(t, quiet, func(c *footfall.Config) { c.Transport = discard{} })
	ctx := context.Background()
	onPage := footfall.WithURL(ctx, "https://example.com/basket")
	plan, amount := "pro", 4999
	event := func(ctx context.Context) func() {
		return func() {
			_ = tracker.Track(ctx, "checkout_completed", footfall.P("plan", plan), footfall.P("amount", amount),
				footfall.P("currency", "EUR"), footfall.P("rate", 2.5))
		}
	}
	for range 100_000 { // grows slabs to the bounds of the queue
		event(ctx)()
	}
	require.NoError(t, tracker.Flush(ctx))
	assert.Zero(t, testing.AllocsPerRun(5000, event(ctx)), "default URL")
	assert.Zero(t, testing.AllocsPerRun(5000, event(onPage)), "URL of the context")
}

// discard is a Transport that settles every record as Delivered.
type discard struct{}

func (discard) Deliver(ctx context.Context, src *footfall.Source) {
	batch := make([]footfall.Record, 100)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for n := src.Take(batch); n > 0; n = src.Take(batch) {
			src.Settle(batch[:n], footfall.OutcomeDelivered, nil)
		}
	}
}

func TestQueueIsBoundedByCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerDown)
		tracker := start(t, f, func(c *footfall.Config) { c.MaxQueueEvents = 50 })
		track(t, tracker, 50)
		assert.ErrorIs(t, tracker.Track(context.Background(), "one_more"), footfall.ErrQueueFull)
		time.Sleep(time.Minute) // events in flight still count
		assert.ErrorIs(t, tracker.Track(context.Background(), "one_more"), footfall.ErrQueueFull)
		s := tracker.Stats()
		assert.Equal(t, uint64(50), s.Queued)
		assert.Equal(t, uint64(2), s.Refused)
		balanced(t, s)
		f.set(answerStatus(202))
		assert.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestQueueIsBoundedByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerDown)
		tracker := start(t, f, func(c *footfall.Config) { c.MaxQueueBytes = 40_000 })
		var err error
		for err == nil {
			err = tracker.Track(context.Background(), "tested", footfall.P("p", strings.Repeat("x", 1000)))
		}
		require.ErrorIs(t, err, footfall.ErrQueueFull)
		s := tracker.Stats()
		assert.LessOrEqual(t, s.QueuedBytes, uint64(40_000))
		assert.Greater(t, s.QueuedBytes, uint64(38_000), "room is used")
		f.set(answerStatus(202))
		assert.NoError(t, closeWithin(tracker, time.Minute))
		assert.Zero(t, tracker.Stats().QueuedBytes)
	})
}

func TestFullQueueDropsTheOldestWithDropOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		j := &journal{}
		tracker := start(t, f, j.into, func(c *footfall.Config) {
			c.MaxQueueEvents = 10
			c.DropOldest = true
			c.FlushInterval = time.Hour
		})
		track(t, tracker, 1) // sent at once
		synctest.Wait()
		track(t, tracker, 25) // numbered from 0; sent later
		s := tracker.Stats()
		assert.Equal(t, uint64(15), s.Dropped)
		balanced(t, s)
		require.NoError(t, closeWithin(tracker, time.Minute))
		require.Len(t, f.bodies, 1+10)
		for _, body := range f.bodies[1:] {
			assert.Regexp(t, `"n":(1[5-9]|2[0-4])\b`, body)
		}
		told := 0 // at once, and the rest when it closes
		for _, m := range regexp.MustCompile(`dropped=(\d+)`).FindAllStringSubmatch(j.String(), -1) {
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			told += n
		}
		assert.Equal(t, 15, told, j.String())
	})
}

// Each event in flight keeps one slab alive. The bounds allow for them.
func TestMemoryIsBoundedByTheQueueBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerHang)
		tracker := start(t, f, func(c *footfall.Config) { c.MaxQueueEvents = 1 << 20 })
		before := heap()
		grown := func() int64 { return int64(heap()) - int64(before) }
		body := strings.Repeat("x", 1500)
		for range 50_000 {
			_ = tracker.Track(context.Background(), "tested", footfall.P("p", body)) // most are refused
		}
		assert.Less(t, grown(), int64(24<<20), "16 MiB of events, headers and slabs")
		s := tracker.Stats()
		assert.NotZero(t, s.Refused)
		time.Sleep(time.Minute) // the breaker of the API holds the events
		held := int64(650 * s.Queued)
		assert.Less(t, grown(), 24<<20+held, "the same, and what each held event takes")
		_ = closeWithin(tracker, time.Millisecond)
	})
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Every call to Track is in exactly one counter at every instant.
func TestEveryEventIsInExactlyOneCounterAtEveryInstant(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	cfg := api.Config()
	cfg.MaxQueueEvents = 200
	cfg.DropOldest = true
	cfg.OnRejected = func(*footfall.RejectedError) {}
	quiet(&cfg)
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	for range 50 {
		api.Next(footfalltest.Accept(), footfalltest.Status(422), footfalltest.Accept())
	}
	stop := make(chan struct{})
	var reader, writers sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s := tracker.Stats()
				if s.Tracked != s.Delivered+s.Rejected+s.Dropped+s.Stored+s.Queued {
					t.Errorf("unbalanced: %+v", s)
					return
				}
			}
		}
	})
	for range 8 {
		writers.Go(func() {
			for range 1000 {
				_ = tracker.Track(context.Background(), "tested")
			}
		})
	}
	writers.Wait()
	assert.NoError(t, closeWithin(tracker, 30*time.Second))
	close(stop)
	reader.Wait()
	s := tracker.Stats()
	assert.Equal(t, uint64(8000), s.Tracked)
	assert.Zero(t, s.Queued)
	assert.Len(t, api.Events(), int(s.Delivered))
}

// Limits that the application sets apply to every call, and to each field in its unit.
func TestEveryCallRefusesAnEventBeyondTheLimits(t *testing.T) {
	t.Parallel()
	limits := footfall.Limits{Name: 20, URL: 512, Props: 2, PropKey: 3, PropText: 10}
	const page = "https://example.com/"
	for field, e := range map[string]footfall.Event{
		"name":          {Name: strings.Repeat("ü", 21), URL: page},
		"url":           {Name: "n", URL: page + strings.Repeat("x", 512-len(page)+1)},
		"props":         {Name: "n", URL: page, Props: []footfall.Prop{footfall.P("a", 1), footfall.P("b", 1), footfall.P("c", 1)}},
		`props["keys"]`: {Name: "n", URL: page, Props: []footfall.Prop{footfall.P("keys", 1)}},
		`props["k"]`:    {Name: "n", URL: page, Props: []footfall.Prop{footfall.P("k", "12345678901")}},
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t, quiet, func(c *footfall.Config) { c.Limits = limits })
			client, err := footfall.NewClient(footfall.ClientConfig{BaseURL: "http://127.0.0.1:1", APIKey: testKey, Limits: limits})
			require.NoError(t, err)
			ctx := footfall.WithURL(t.Context(), e.URL)
			e.SiteID = "site_1"
			for call, err := range map[string]error{
				"Track":        tracker.Track(ctx, e.Name, e.Props...),
				"TrackEvent":   tracker.TrackEvent(t.Context(), e),
				"TrackRequest": tracker.TrackRequest(httptest.NewRequestWithContext(ctx, "GET", "/", nil), e.Name, e.Props...),
				"TrackDurable": tracker.TrackDurable(t.Context(), e),
				"Send":         client.Send(t.Context(), e),
			} {
				var refused *footfall.FieldError
				require.ErrorAs(t, err, &refused, call)
				assert.Equal(t, field, refused.Field, call)
				assert.Contains(t, refused.Reason, "Config.Limits.", call)
			}
			assert.Equal(t, footfall.Stats{Invalid: 4}, tracker.Stats())
		})
	}
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.Limits = limits })
	assert.NoError(t, tracker.TrackEvent(t.Context(), footfall.Event{
		Name: strings.Repeat("ü", 20), URL: page + strings.Repeat("x", 512-len(page)),
		Props: []footfall.Prop{footfall.P("old", 1), footfall.P("key", "1234567890"), footfall.P("old", 2)},
	}))
}

// What a client chooses is cut to the limits: its event is made.
func TestARequestNeverExceedsTheLimits(t *testing.T) {
	t.Parallel()
	site := setup{
		rules: []footfall.Rule{{Route: "GET /files/{name}", PathProps: []string{"name"}}, {Route: "GET /read/{name}", Page: footfall.PageReferer}},
		config: func(c *footfall.Config) {
			c.Limits = footfall.Limits{Name: 20, URL: 512, Props: 1, PropKey: 4, PropText: 10}
		},
	}.open(t, muxOf("GET /files/{name}", "GET /read/{name}"))
	site.get(t, "/files/"+strings.Repeat("%C3%BC", 1000))
	site.get(t, "/files/"+strings.Repeat("x", 3000)+"?utm_source="+strings.Repeat("x", 3000))
	r := site.request(t, "GET", "/read/x", nil)
	r.Header.Set("Referer", "https://shop.example.com/"+strings.Repeat("r/", 3000))
	resp, err := site.Client().Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	events := site.events()
	require.Len(t, events, 3)
	assert.Equal(t, "üüüüü", events[0].Props["name"])
	for _, e := range events {
		assert.LessOrEqual(t, len(e.URL), 512)
	}
	assert.Len(t, events[2].URL, 511)
	assert.Zero(t, site.tracker.Stats().Invalid)
}

func TestFlushReturnsWhenEverythingAcceptedBeforeIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 50 * time.Millisecond
		tracker := start(t, f)
		track(t, tracker, 10)
		began := time.Now()
		go func() { // later events do not delay it
			for range 100 {
				_ = tracker.Track(context.Background(), "later")
				time.Sleep(10 * time.Millisecond)
			}
		}()
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Less(t, time.Since(began), 400*time.Millisecond)
		delivered, _ := f.delivered()
		assert.GreaterOrEqual(t, delivered, 10)
		time.Sleep(2 * time.Second)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestFlushObeysItsContextAndKeepsTheEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerDown)
		tracker := start(t, f)
		track(t, tracker, 3)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		began := time.Now()
		err := tracker.Flush(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Contains(t, err.Error(), "3 events not settled")
		assert.Equal(t, 2*time.Second, time.Since(began))
		assert.Equal(t, uint64(3), tracker.Stats().Queued)
		f.set(answerStatus(202))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestFlushWithNothingQueuedReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, newFakeNet())
		require.NoError(t, tracker.Flush(context.Background()))
		require.NoError(t, closeWithin(tracker, time.Second))
		require.NoError(t, tracker.Flush(context.Background()), "after Close too")
	})
}

func TestFlushReturnsWhenCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerHang)
		tracker := start(t, f)
		track(t, tracker, 1)
		flushed := make(chan error, 1)
		go func() { flushed <- tracker.Flush(context.Background()) }()
		synctest.Wait()
		require.Error(t, closeWithin(tracker, time.Second))
		select {
		case <-flushed:
		case <-time.After(time.Second):
			t.Error("Flush waits for events that were given up")
		}
	})
}

func TestFlushAndCloseTreatANilContextAsEndless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Second
		tracker := start(t, f)
		var none context.Context
		track(t, tracker, 10)
		require.NoError(t, tracker.Flush(none))
		assert.Equal(t, uint64(10), tracker.Stats().Delivered)
		track(t, tracker, 10)
		require.NoError(t, tracker.Close(none))
		require.NoError(t, tracker.Close(none))
		assert.Equal(t, uint64(20), tracker.Stats().Delivered)
	})
}

func TestFlushWithANilContextReachesTheTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, newFakeNet(), func(c *footfall.Config) { c.Transport = flushing{t} })
		var none context.Context
		require.NoError(t, tracker.Flush(none))
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// flushing is a Transport whose Flush requires a context.
type flushing struct{ t *testing.T }

func (flushing) Deliver(ctx context.Context, src *footfall.Source) { src.Wait(ctx) }

func (f flushing) Flush(ctx context.Context) error {
	assert.NotNil(f.t, ctx)
	return nil
}

func TestAnIDThatNoHeaderCanCarryIsRefusedAtTheCall(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	tracker, err := footfall.New(api.Config())
	require.NoError(t, err)
	client := clientOf(t, api.URL)
	for id, reason := range map[string]string{
		"evt\r\nX-Evil: 1":          "a character that is not printable ASCII",
		"bestellung_ü":              "a character that is not printable ASCII",
		strings.Repeat("x", 10_000): "longer than 255 bytes",
		" evt":                      "a space at the beginning or the end",
	} {
		e := footfall.Event{SiteID: "site_1", Name: "paid", URL: "https://example.com/", ID: id}
		want := &footfall.FieldError{Field: "id", Reason: reason}
		assert.Equal(t, want, tracker.TrackEvent(t.Context(), e))
		assert.Equal(t, want, tracker.TrackDurable(t.Context(), e))
		assert.Equal(t, want, client.Send(t.Context(), e))
	}
	assert.Equal(t, uint64(8), tracker.Stats().Invalid)
	require.NoError(t, tracker.Close(t.Context()))
	assert.Empty(t, api.Requests())
}
