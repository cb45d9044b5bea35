package test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/outbox"
)

func TestAKillBeforeTheCommitLeavesNoOrderAndNoEvent(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		p := d.start(t, api, "tracks", "1")
		p.says(t, "ready")
		p.kill()
		b := box(t, quick(api, &log), d.config())
		d.order(t, b, "2")
		flush(t, b)
		assert.Equal(t, 1, d.count(t, "SELECT count(*) FROM orders"))
		assert.Equal(t, []string{"2"}, orders(api))
	})
}

func TestAKillAfterTheCommitLosesNothing(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		p := d.start(t, api, "commits", "1")
		p.says(t, "ready")
		p.kill()
		assert.Equal(t, 1, d.rows(t))
		flush(t, box(t, quick(api, &log), d.config()))
		assert.Equal(t, []string{"1"}, orders(api))
	})
}

// The API takes the events of the killed process, and does not remember that it has.
func TestAKillInTheMiddleOfAPostCountsNothingTwice(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		api.Always(func(a *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
			footfalltest.Accept()(a, httptest.NewRecorder(), r, e)
			footfalltest.Hang()(a, w, r, e)
		})
		d.migrate(t)
		p := d.start(t, api, "delivers", "")
		p.says(t, "ready")
		writing := d.config()
		writing.WriteOnly = true
		w := box(t, quick(api, &log), writing)
		for i := range inFlight {
			d.order(t, w, fmt.Sprint(i))
		}
		require.Eventually(t, func() bool { return len(api.Requests()) > 1 }, patience, time.Millisecond)
		p.kill()
		before := len(api.Requests())
		api.Always(nil)
		assert.Equal(t, inFlight, d.rows(t))
		began := time.Now()
		flush(t, box(t, quick(api, &log), d.config()))
		assert.Less(t, time.Since(began), d.config().Lease+5*time.Second)
		assert.Len(t, api.Requests(), before+inFlight)
		assert.Len(t, api.Events(), inFlight, "each is counted once")
	})
}

// A process that is stopped for longer than its lease sends what is in flight again, and nothing else.
func TestAProcessThatWasStoppedPastItsLeaseCountsNothingTwice(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		api.Always(footfalltest.Delay(50*time.Millisecond, footfalltest.Accept()))
		d.migrate(t)
		writing := d.config()
		writing.WriteOnly = true
		w := box(t, quick(api, &log), writing)
		const events = 200
		for i := range events {
			d.order(t, w, fmt.Sprint(i))
		}
		stopped := d.start(t, api, "delivers", "")
		stopped.says(t, "ready")
		arrive(t, api, 1)
		d.stop(t, stopped)
		time.Sleep(100 * time.Millisecond) // for requests on the way
		sent, left := len(api.Requests()), d.rows(t)
		other := d.start(t, api, "delivers", "")
		other.says(t, "ready")
		d.empty(t)
		arrive(t, api, events)
		stopped.signal(t, syscall.SIGCONT)
		time.Sleep(time.Second) // for what it does wrong
		other.kill()
		d.order(t, w, "last")
		arrive(t, api, events+1) // it delivers again
		assert.Len(t, api.Events(), events+1)
		assert.LessOrEqual(t, len(api.Requests()), sent+left+1+inFlight)
		assert.Equal(t, 0, d.rejected(t))
	})
}

// stop stops a process between its transactions: otherwise its locks would stay.
func (d *database) stop(t testing.TB, p *program) {
	t.Helper()
	for {
		p.signal(t, syscall.SIGSTOP)
		time.Sleep(10 * time.Millisecond) // until it is stopped
		if d.isUnlocked(t) {
			return
		}
		p.signal(t, syscall.SIGCONT)
		time.Sleep(10 * time.Millisecond)
	}
}

// isUnlocked reports whether no transaction has locks of the table.
func (d *database) isUnlocked(t testing.TB) bool {
	t.Helper()
	query := "SELECT id FROM footfall_outbox FOR UPDATE NOWAIT"
	if d.dialect == outbox.SQLite {
		query = "UPDATE footfall_outbox SET claims = claims WHERE id = ''"
	}
	probe, err := sql.Open(d.driver, strings.Replace(d.dsn, "busy_timeout(5000)", "busy_timeout(100)", 1))
	require.NoError(t, err)
	defer probe.Close()
	_, err = probe.Exec(query)
	return err == nil
}

func TestOrdersAndEventsAreTheSameAfterManyKills(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		for round := range rounds {
			api.Always(footfalltest.Delay(time.Duration(rand.IntN(3))*2*time.Millisecond, footfalltest.Accept()))
			p := d.start(t, api, "sells", fmt.Sprint(round))
			p.says(t, "sells")
			time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
			p.kill()
		}
		d.same(t, api, &log)
	})
}

// same compares the orders with the events, once all have arrived.
func (d *database) same(t testing.TB, api *footfalltest.API, log *footfalltest.Log) {
	t.Helper()
	flush(t, box(t, quick(api, log), d.config()))
	rows, err := d.Query("SELECT id FROM orders")
	require.NoError(t, err)
	defer rows.Close()
	var sold []string
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		sold = append(sold, id)
	}
	require.NoError(t, rows.Err())
	t.Logf("%d orders, %d requests", len(sold), len(api.Requests()))
	arrived := orders(api)
	slices.Sort(sold)
	slices.Sort(arrived)
	assert.Equal(t, sold, arrived)
	assert.Equal(t, 0, d.rejected(t))
	assert.NotEmpty(t, sold)
}
