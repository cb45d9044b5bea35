//go:build ci

package jobtest

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/jobs"
	"github.com/footfall-dev/footfall/footfalltest"
)

// System is a server of jobs, with which the test binary's worker works: see Main.
type System struct {
	// Address is what the worker gets.
	Address string

	// Add adds a job.
	Add func(t *testing.T, o jobs.Order)

	// Left returns how many jobs are not done.
	Left func(t *testing.T) int

	// Lose makes the server notice the end of a worker that was killed, if it takes more than seconds to
	// notice that by itself.
	Lose func(t *testing.T)

	// Ends is set if a worker ends when a job fails.
	Ends bool

	// Flushes is set if the events of a job are delivered before it is done.
	Flushes bool
}

// bench is a system with an API and a worker.
type bench struct {
	System
	t      *testing.T
	api    *footfalltest.API
	worker *process
}

// Test runs all tests, each with a system that start starts.
func Test(t *testing.T, start func(t *testing.T) System) {
	for name, test := range map[string]func(*bench){
		"a job that fails behind its event runs again, and its event counts once":   failBehind,
		"a job whose worker is killed runs again, and its event counts once":        killBehind,
		"jobs of two orders are two events":                                         twoOrders,
		"a worker that is told to stop ends its job and delivers its events":        stop,
		"a worker that is told to stop while the API is away says what is lost":     loseAll,
		"a job that is done is not repeated when the worker is killed, nor counted": killAfter,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bench{System: start(t), t: t, api: footfalltest.NewAPI(t)}
			b.start()
			test(b)
		})
	}
}

func (b *bench) start() { b.worker = startWorker(b.t, b.Address, b.api) }

// restart kills the worker and starts another.
func (b *bench) restart() {
	b.t.Helper()
	b.worker.kill()
	if b.Lose != nil {
		b.Lose(b.t)
	}
	b.start()
}

// order returns an order of a visitor of a campaign.
func order(number string) jobs.Order {
	r, _ := http.NewRequest(http.MethodGet, "https://shop.example.com/hats?utm_source=letter&utm_campaign=spring", nil) // the URL is valid
	return jobs.Order{Number: number, Cents: 4999, Touch: footfall.TouchOf(r).String()}
}

// runs waits until a job has asked for the receipt.
func (b *bench) runs(number string) {
	b.t.Helper()
	b.worker.says("charge " + number)
	b.worker.says("receipt " + number)
}

// eventually waits for a condition.
func (b *bench) eventually(what string, f func() bool) {
	b.t.Helper()
	for began := time.Now(); !f(); time.Sleep(5 * time.Millisecond) {
		require.Less(b.t, time.Since(began), patience, what)
	}
}

// counted waits until the API has counted events, and compares them: n of each job's two.
func (b *bench) counted(paid, sent int) {
	b.t.Helper()
	b.eventually("events arrive", func() bool { return len(b.api.Events()) >= paid+sent })
	names := map[string]int{}
	for _, e := range b.api.Events() {
		names[e.Name]++
		assert.Equal(b.t, "https://shop.example.com/orders?utm_source=letter&utm_campaign=spring", e.URL)
		if e.Name == "order_paid" {
			assert.Equal(b.t, map[string]any{"amount": 4999.0}, e.Props)
		}
	}
	want := map[string]int{}
	if paid > 0 {
		want["order_paid"] = paid
	}
	if sent > 0 {
		want["receipt_sent"] = sent
	}
	assert.Equal(b.t, want, names)
}

// done waits until all jobs are done.
func (b *bench) done() {
	b.t.Helper()
	b.eventually("jobs are done", func() bool { return b.Left(b.t) == 0 })
}

// stopped ends the worker, which has to say that it has delivered so many events, and lost none.
func (b *bench) stopped(account string) {
	b.t.Helper()
	b.worker.terminate()
	b.worker.says(account)
	said, failed := b.worker.ends()
	assert.False(b.t, failed, said)
}

// repeated checks that an event was delivered twice, with one ID.
func (b *bench) repeated() {
	b.t.Helper()
	ids := map[string]int{}
	for _, r := range b.api.Requests() {
		ids[r.ID]++
	}
	counts := make([]int, 0, len(ids))
	for _, n := range ids {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	assert.Equal(b.t, []int{1, 2}, counts) // receipt_sent and order_paid
}

func failBehind(b *bench) {
	b.Add(b.t, order("7"))
	b.runs("7")
	b.counted(1, 0)
	b.worker.answer("fail")
	if b.Ends {
		b.worker.says("delivered 1, lost 0")
		said, failed := b.worker.ends()
		assert.True(b.t, failed)
		assert.Contains(b.t, said, "the mail server is away")
		b.start()
	}
	b.runs("7")
	b.worker.answer("ok")
	b.done()
	if b.Ends {
		b.stopped("delivered 2, lost 0")
	} else {
		b.stopped("delivered 3, lost 0")
	}
	b.counted(1, 1)
	b.repeated()
}

func killBehind(b *bench) {
	b.Add(b.t, order("7"))
	b.runs("7")
	b.counted(1, 0)
	b.restart()
	b.runs("7")
	b.worker.answer("ok")
	b.done()
	b.stopped("delivered 2, lost 0")
	b.counted(1, 1)
	b.repeated()
}

func twoOrders(b *bench) {
	for _, number := range []string{"7", "8"} {
		b.Add(b.t, order(number))
		b.runs(number)
		b.worker.answer("ok")
		b.done()
	}
	b.stopped("delivered 4, lost 0")
	b.counted(2, 2)
	assert.Len(b.t, b.api.Requests(), 4)
}

func stop(b *bench) {
	b.api.Always(footfalltest.Status(http.StatusServiceUnavailable))
	b.Add(b.t, order("7"))
	b.runs("7")
	b.worker.terminate()
	time.Sleep(100 * time.Millisecond) // the job goes on while the worker stops
	b.api.Always(nil)
	b.worker.answer("ok")
	b.worker.says("delivered 2, lost 0")
	said, failed := b.worker.ends()
	assert.False(b.t, failed, said)
	b.counted(1, 1)
	assert.Zero(b.t, b.Left(b.t), "the job was acknowledged")
}

func loseAll(b *bench) {
	b.api.Always(footfalltest.Status(http.StatusServiceUnavailable))
	b.Add(b.t, order("7"))
	b.runs("7")
	b.worker.answer("ok")
	b.done() // the outage holds up no job
	b.worker.terminate()
	b.worker.says("delivered 0, lost 2")
	said, failed := b.worker.ends()
	assert.True(b.t, failed)
	assert.Contains(b.t, said, "footfall: close: lost 2 of 2 events")
	assert.Empty(b.t, b.api.Events())
}

func killAfter(b *bench) {
	if b.Flushes {
		b.api.Always(footfalltest.Delay(300*time.Millisecond, footfalltest.Accept()))
	}
	b.Add(b.t, order("7"))
	b.runs("7")
	b.worker.answer("ok")
	b.done()
	if !b.Flushes {
		b.counted(1, 1)
	}
	b.restart()
	b.Add(b.t, order("8"))
	b.runs("8") // and 7 does not run
	b.worker.answer("ok")
	b.done()
	b.stopped("delivered 2, lost 0")
	b.counted(2, 2)
}
