package test

import (
	"database/sql"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/outbox"
)

func TestSeveralBoxesSendEachEventOnce(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		cfg := d.config()
		cfg.Lease = time.Minute
		cfg.MaxHeld = 32
		boxes := make([]*outbox.Box, 3)
		for i := range boxes {
			boxes[i] = box(t, quick(api, &log), cfg)
		}
		const events = 600
		var sellers sync.WaitGroup
		for seller := range 3 {
			sellers.Go(func() {
				for i := range events / 3 {
					assert.NoError(t, d.tryOrder(t.Context(), boxes[seller], fmt.Sprint(seller, ".", i), sql.LevelDefault))
				}
			})
		}
		sellers.Wait()
		flush(t, boxes[0])
		assert.Len(t, api.Events(), events)
		assert.Len(t, api.Requests(), events)
		delivered := uint64(0)
		for _, b := range boxes {
			delivered += b.Stats().Delivered
		}
		assert.Equal(t, uint64(events), delivered)
	})
}

// The database's clock decides. A clock of a process is only in the ids, and here it is an hour off. A clock of
// the database that is set by an hour has the effect that the times of all rows are an hour off.
func TestAClockThatIsAnHourOffDoesNotMatter(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		writing := d.config()
		writing.WriteOnly = true
		w := box(t, quick(api, &log), writing)
		hour := int64(3_600_000)
		for i, ids := range []int64{-hour, 0, hour} {
			for j, times := range []int64{-hour, 0, hour} {
				for k, leased := range []int64{0, 1, 2} { // how often it was claimed
					id := fmt.Sprintf("%d%d%d", i, j, k)
					require.NoError(t, w.TrackEvent(t.Context(), d.DB, footfall.Event{Name: "order_paid", ID: id}))
					at := time.Now().UnixMilli()
					row := fmt.Sprintf("%012x", at+ids)
					row = row[:8] + "-" + row[8:] + "-7000-8000-000000000" + id
					until := min(leased, 1) * (at + times)
					d.exec(t, fmt.Sprintf("UPDATE footfall_outbox SET id = '%s', created_at = created_at + %d, leased_until = %d, claims = %d WHERE idempotency_key = '%s'", row, times, until, leased, id))
				}
			}
		}
		b := box(t, quick(api, &log), d.config())
		d.empty(t)
		assert.Len(t, api.Events(), 27)
		assert.Len(t, api.Requests(), 27)
		lag, err := b.Lag(t.Context())
		require.NoError(t, err)
		assert.Zero(t, lag)
	})
}

// Its event has an early id, and was written early.
func TestATransactionThatStaysOpenForLongHoldsUpNoOthers(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name string
		open func(testing.TB) *database
	}{{"PostgreSQL", openPGX}, {"MariaDB", openMySQL}} { // SQLite has one writer
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			d := one.open(t)
			api, log := footfalltest.NewAPI(t), footfalltest.Log{}
			d.migrate(t)
			b := box(t, quick(api, &log), d.config())
			tx, err := d.Begin()
			require.NoError(t, err)
			require.NoError(t, b.Track(t.Context(), tx, "order_paid"))
			began := time.Now()
			for i := 0; time.Since(began) < 2*d.config().Lease; i++ {
				d.order(t, b, fmt.Sprint(i))
				b.Wake()
				arrive(t, api, i+1)
			}
			n := len(api.Events())
			require.NoError(t, tx.Commit())
			arrive(t, api, n+1)
			assert.Len(t, api.Requests(), n+1)
		})
	}
}

// Orders of any isolation and claims do not disturb each other, whatever the default of the database is.
func TestOrdersOfEachIsolationDoNotFailBecauseOfClaims(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name   string
		open   func(testing.TB) *database
		stable string // in the data source name: serializable is the default
	}{{"PostgreSQL", openPGX, "&default_transaction_isolation=serializable"}, {"MariaDB", openMySQL, "&tx_isolation=%27SERIALIZABLE%27"}} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			d := one.open(t)
			api, log := footfalltest.NewAPI(t), footfalltest.Log{}
			d.migrate(t)
			d = open(t, d.dialect, d.driver, d.dsn+one.stable)
			boxes := []*outbox.Box{box(t, quick(api, &log), d.config()), box(t, quick(api, &log), d.config())}
			levels := []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
			var sellers sync.WaitGroup
			for i, level := range levels {
				sellers.Go(func() {
					for j := range 100 {
						assert.NoError(t, d.tryOrder(t.Context(), boxes[j%2], fmt.Sprint(i, ".", j), level), level)
						boxes[j%2].Wake()
					}
				})
			}
			sellers.Wait()
			flush(t, boxes[0])
			assert.Len(t, api.Events(), 500)
			assert.Len(t, api.Requests(), 500)
		})
	}
}

// failing answers 503 to events whose order begins with "bad".
func failing(a *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
	if strings.HasPrefix(fmt.Sprint(e.Props["order"]), "bad") {
		footfalltest.Status(503)(a, w, r, e)
		return
	}
	footfalltest.Accept()(a, w, r, e)
}

func TestEventsThatFailMakeRoomForOthers(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		api.Always(failing)
		d.migrate(t)
		cfg := d.config()
		cfg.MaxHeld, cfg.Lease = 32, time.Second
		b := box(t, quick(api, &log), cfg)
		for i := range 60 {
			d.order(t, b, fmt.Sprint("bad", i))
		}
		require.Eventually(t, func() bool { return b.Stats().Held == 32 }, patience, time.Millisecond)
		for i := range 20 {
			d.order(t, b, fmt.Sprint(i))
		}
		arrive(t, api, 20)
		assert.LessOrEqual(t, b.Stats().Held, 32)
		api.Always(nil)
		arrive(t, api, 80)
		d.empty(t)
	})
}

// A row that was claimed before has its turn while others arrive faster than they are delivered.
func TestARowThatWasClaimedBeforeIsNotDelayedByABacklog(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		api.Always(footfalltest.Delay(2*time.Millisecond, footfalltest.Accept()))
		d.migrate(t)
		writing := d.config()
		writing.WriteOnly = true
		w := box(t, quick(api, &log), writing)
		tx, err := d.Begin()
		require.NoError(t, err)
		for range 2000 {
			require.NoError(t, w.Track(t.Context(), tx, "backlog"))
		}
		require.NoError(t, w.Track(t.Context(), tx, "order_paid"))
		require.NoError(t, tx.Commit())
		newest := ""
		require.NoError(t, d.QueryRow("SELECT id FROM footfall_outbox ORDER BY id DESC LIMIT 1").Scan(&newest))
		d.exec(t, fmt.Sprintf("UPDATE footfall_outbox SET leased_until = 1, claims = 1 WHERE id = '%s'", newest))
		cfg := quick(api, &log)
		cfg.MaxInFlight = 4
		b := box(t, cfg, d.config())
		position := func() int {
			return slices.IndexFunc(api.Events(), func(e footfalltest.Event) bool { return e.Name == "order_paid" })
		}
		require.Eventually(t, func() bool { return position() >= 0 }, patience, 10*time.Millisecond)
		assert.Less(t, position(), 1200)
		require.NoError(t, closeWithin(b, patience))
	})
}

// Leases are extended while the API is away.
func TestEventsThatWaitInAnOutageAreNotClaimedByOthers(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		api.Always(footfalltest.Status(503))
		d.migrate(t)
		cfg := d.config()
		cfg.Lease = time.Second
		first := box(t, quick(api, &log), cfg)
		for i := range 50 {
			d.order(t, first, fmt.Sprint(i))
		}
		require.Eventually(t, func() bool { return first.Stats().Held == 50 }, patience, time.Millisecond)
		other := box(t, quick(api, &log), cfg)
		time.Sleep(3 * cfg.Lease)
		assert.Zero(t, other.Stats().Claimed)
		api.Always(nil)
		flush(t, first)
		assert.Equal(t, uint64(50), first.Stats().Delivered)
		assert.Len(t, api.Events(), 50)
	})
}

// An idle Box reads once in each Poll, and writes nothing.
func TestAnIdleBoxOnlyReads(t *testing.T) {
	t.Parallel()
	d := openPGX(t)
	api, log := footfalltest.NewAPI(t), footfalltest.Log{}
	d.migrate(t)
	b := box(t, quick(api, &log), d.config())
	d.order(t, b, "1")
	flush(t, b)
	time.Sleep(200 * time.Millisecond) // for its statistics
	writes := func() int {
		d.exec(t, "SELECT pg_stat_clear_snapshot()")
		return d.count(t, "SELECT n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables WHERE relname = 'footfall_outbox'")
	}
	var before int
	require.Eventually(t, func() bool { before = writes(); return before >= 3 }, patience, 100*time.Millisecond)
	time.Sleep(time.Second)
	assert.Equal(t, before, writes())
	assert.Less(t, before, math.MaxInt)
}

// A look at the table that works says nothing about the claim after it, for which the database needs more than reading.
func TestAClaimThatFailsIsLoggedThoughTheTableCanBeRead(t *testing.T) {
	t.Parallel()
	api, log := footfalltest.NewAPI(t), footfalltest.Log{}
	d := openSQLite(t)
	d.migrate(t)
	_, err := d.ExecContext(t.Context(), "CREATE TRIGGER refuse BEFORE UPDATE ON footfall_outbox BEGIN SELECT RAISE(ABORT, 'no right to claim'); END")
	require.NoError(t, err)
	b := box(t, quick(api, &log), d.config())
	require.NoError(t, b.Track(t.Context(), d.DB, "order_paid"))
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "no right to claim") }, 10*time.Second, 10*time.Millisecond)
	_, err = d.ExecContext(t.Context(), "DROP TRIGGER refuse")
	require.NoError(t, err)
	flush(t, b)
	assert.Contains(t, log.String(), "the table can be used again")
}
