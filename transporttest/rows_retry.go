package transporttest

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// retryRows test when an event is retried.
var retryRows = []row{
	{"Retry-After is obeyed", retryAfterIsHeeded},
	{"an outage costs a request per backoff step", outageCostsARequestPerStep},
	{"Outage says since when and why events wait", outageIsReportedWithItsReason},
	{"an attempt that takes too long is retried", slowAttemptIsMadeAgain},
	{"a missing server is retried", missingServerIsTriedAgain},
	{"a hostile API loses nothing", hostileAPILosesNothing},
}

func retryAfterIsHeeded(t *testing.T, open Open) {
	text := func(value string) func(time.Time) string { return func(time.Time) string { return value } }
	inTwo := func(sent time.Time) string { return sent.Add(2 * time.Second).UTC().Format(http.TimeFormat) }
	for name, tt := range map[string]struct {
		value    func(sent time.Time) string
		clock    time.Duration // of the server, less ours
		limit    time.Duration
		from, to time.Duration
	}{
		"seconds":                          {text("1"), 0, time.Hour, time.Second, 10 * time.Second},
		"a date":                           {inTwo, 0, time.Hour, time.Second, 10 * time.Second},
		"a date, the server's clock ahead": {inTwo, time.Hour, time.Hour, time.Second, 10 * time.Second},
		"a date, the clock behind":         {inTwo, -time.Hour, time.Hour, time.Second, 10 * time.Second},
		"clamped":                          {text("86400"), 0, 300 * time.Millisecond, 300 * time.Millisecond, 10 * time.Second},
		"garbage":                          {text("soon"), 0, time.Hour, 0, 10 * time.Second},
		"gone by":                          {text("Sat, 02 Jan 1999 15:04:05 GMT"), 0, time.Hour, 0, 10 * time.Second},
		"negative":                         {text("-5"), 0, time.Hour, 0, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := footfalltest.NewAPI(t)
			api.Next(func(a *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
				sent := time.Now().Add(tt.clock) // a date begins with the answer
				w.Header().Set("Date", sent.UTC().Format(http.TimeFormat))
				footfalltest.RetryAfter(tt.value(sent))(a, w, r, e)
			})
			r := start(t, open, api.Config(), func(c *footfall.Config) { c.MaxRetryAfter = tt.limit })
			r.deliver(t, 1)
			sameOnEveryAttempt(t, api, 2)
			waited := api.Requests()[1].Time.Sub(api.Requests()[0].Time)
			assert.GreaterOrEqual(t, waited, tt.from-20*time.Millisecond, "a date says no more than the second")
			assert.LessOrEqual(t, waited, tt.to)
		})
	}
}

func outageIsReportedWithItsReason(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	r := start(t, open, api.Config())
	r.deliver(t, 1)
	_, out := r.Outage()
	assert.False(t, out)
	api.Always(footfalltest.Status(http.StatusServiceUnavailable))
	began := time.Now()
	r.track(t, 10)
	var o footfall.Outage
	require.Eventually(t, func() bool { o, out = r.Outage(); return out }, patience, time.Millisecond)
	assert.ErrorContains(t, o.Err, "503")
	assert.WithinRange(t, o.Since, began, time.Now())
	api.Always(footfalltest.Accept())
	r.flush(t)
	_, out = r.Outage()
	assert.False(t, out)
}

func outageCostsARequestPerStep(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	api.Always(footfalltest.Status(503))
	r := start(t, open, api.Config(), patient, func(c *footfall.Config) { c.MaxInFlight = 8 })
	r.track(t, 1000)
	assert.False(t, r.settles(300*time.Millisecond))
	assert.LessOrEqual(t, len(api.Requests()), 8+4, "the requests in flight when the fifth has failed, and those before")
	api.Always(nil)
	require.NoError(t, r.close(20*time.Second), "Close does not wait for the backoff")
	assert.Len(t, api.Events(), 1000)
	r.counts(t, 1000, 0)
}

func slowAttemptIsMadeAgain(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	api.Next(footfalltest.Hang())
	const timeout = 500 * time.Millisecond // enough for the second attempt on a busy machine
	r := start(t, open, api.Config(), func(c *footfall.Config) { c.AttemptTimeout = timeout })
	began := time.Now()
	r.deliver(t, 1)
	sameOnEveryAttempt(t, api, 2)
	assert.GreaterOrEqual(t, api.Requests()[1].Time.Sub(began), timeout)
	r.counts(t, 1, 0)
}

// nothingListens is the URL of a port that is never given to a listener of another test.
const nothingListens = "http://127.0.0.1:1"

func missingServerIsTriedAgain(t *testing.T, open Open) {
	r := start(t, open, config(nothingListens))
	r.track(t, 3)
	require.Eventually(t, func() bool { return r.String() != "" }, 20*time.Second, time.Millisecond)
	r.says(t, "does not accept events")
	var account *footfall.CloseError
	require.ErrorAs(t, r.close(5*time.Second), &account)
	assert.Equal(t, uint64(3), account.Lost)
}

// All failures at once: no event is lost or counted twice.
func hostileAPILosesNothing(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	for range 30 {
		api.Next(footfalltest.Status(500), footfalltest.Accept(), footfalltest.Reset(), footfalltest.RetryAfter("0"),
			footfalltest.AcceptThenReset(), footfalltest.Accept(), footfalltest.Body(200, "text/html", login),
			footfalltest.Status(401), footfalltest.Delay(5*time.Millisecond, footfalltest.Accept()))
	}
	r := start(t, open, api.Config())
	r.deliver(t, 500)
	r.counts(t, 500, 0)
	assert.Len(t, api.Events(), 500)
}
