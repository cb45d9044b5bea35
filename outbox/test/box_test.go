package test

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/outbox"
)

func TestAnEventArrivesIfAndOnlyIfItsTransactionCommits(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		require.NoError(t, outbox.Check(t.Context(), d.DB, d.config()))
		b := box(t, quick(api, &log), d.config())
		tx, err := d.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		require.NoError(t, b.Track(t.Context(), tx, "order_paid", footfall.P("order", "rolled back")))
		require.NoError(t, tx.Rollback())
		for _, id := range []string{"1", "2", "3"} {
			d.order(t, b, id)
		}
		flush(t, b)
		assert.ElementsMatch(t, []string{"1", "2", "3"}, orders(api))
		assert.Equal(t, 0, d.rows(t))
		assert.Len(t, api.Requests(), 3)
		assert.Equal(t, outbox.Stats{Tracked: 4, Claimed: 3, Delivered: 3}, b.Stats())
		assert.Empty(t, log.String())
	})
}

func TestTrackWritesWhatATrackerSends(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		b := box(t, quick(api, &log), d.config())
		tracker, err := footfall.New(quick(api, &log))
		require.NoError(t, err)
		defer func() { _ = tracker.Close(t.Context()) }()
		ctx := footfall.WithURL(t.Context(), "https://shop.example.com/Überweisung?utm_source=x")
		e := footfall.Event{Name: "bezahlt_€_🎉", ID: "webhook:1", Props: []footfall.Prop{
			footfall.P("mail", "ada@example.com"), footfall.P("text", `a"b\c'd`+"\t"), footfall.P("amount", 49.99),
		}}
		require.NoError(t, tracker.TrackDurable(ctx, e))
		require.NoError(t, b.TrackEvent(ctx, d.DB, e), "a database is a transaction of one statement")
		flush(t, b)
		requests := api.Requests()
		require.Len(t, requests, 2)
		assert.Equal(t, string(requests[0].Body), string(requests[1].Body))
		assert.Equal(t, "webhook:1", requests[1].ID)
		assert.Len(t, api.Events(), 1, "the API counts it once")
		assert.Contains(t, string(requests[1].Body), `"[redacted]"`)
	})
}

func TestTwoRowsWithOneIDAreTwoRows(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		api.Next(footfalltest.Status(503), footfalltest.Status(422))
		d.migrate(t)
		b := box(t, quick(api, &log), d.config())
		for range 3 {
			require.NoError(t, b.TrackEvent(t.Context(), d.DB, footfall.Event{Name: "paid", ID: "webhook:1"}))
		}
		flush(t, b)
		s := b.Stats()
		assert.Equal(t, []uint64{2, 1}, []uint64{s.Delivered, s.Rejected})
		assert.Len(t, api.Events(), 1)
		for _, r := range api.Requests() {
			assert.Equal(t, "webhook:1", r.ID)
		}
	})
}

func TestTrackOfABadEventLeavesTheTransactionAsItWas(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		b := box(t, quick(api, &log), d.config())
		tx, err := d.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		for _, id := range []string{"a\nb", strings.Repeat("x", 10_000), "bestellung_ü"} {
			err := b.TrackEvent(t.Context(), tx, footfall.Event{Name: "paid", ID: id})
			var field *footfall.FieldError
			require.ErrorAs(t, err, &field)
			assert.Equal(t, "id", field.Field)
		}
		_, err = tx.Exec("INSERT INTO orders VALUES ('1')")
		require.NoError(t, err)
		require.NoError(t, tx.Commit())
		assert.Equal(t, outbox.Stats{Invalid: 3}, b.Stats())
		assert.Equal(t, 1, d.count(t, "SELECT count(*) FROM orders"))
		require.Eventually(t, func() bool { return strings.Contains(log.String(), "paid") }, patience, time.Millisecond)
	})
}

func TestTrackInATransactionThatHasEndedIsAnError(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		b := box(t, quick(api, &log), d.config())
		for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
			tx, err := d.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			require.NoError(t, end(tx))
			require.ErrorIs(t, b.Track(t.Context(), tx, "paid"), sql.ErrTxDone)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, b.Track(ctx, d.DB, "paid"), context.Canceled)
		assert.Equal(t, outbox.Stats{}, b.Stats())
		assert.Equal(t, 0, d.rows(t))
	})
}

func TestTrackTakesATransactionOfPGX(t *testing.T) {
	t.Parallel()
	d := openPGX(t)
	api, log := footfalltest.NewAPI(t), footfalltest.Log{}
	d.migrate(t)
	b := box(t, quick(api, &log), d.config())
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		conn, err := pgx.Connect(t.Context(), d.dsn+"&default_query_exec_mode="+mode)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		execer := outbox.ExecFunc(func(ctx context.Context, query string, args ...any) error {
			_, err := tx.Exec(ctx, query, args...)
			return err
		})
		require.NoError(t, b.Track(t.Context(), execer, "order_paid", footfall.P("order", mode)), mode)
		require.NoError(t, tx.Commit(t.Context()))
		require.Error(t, b.Track(t.Context(), execer, "order_paid"), "it has ended")
	}
	flush(t, b)
	assert.Len(t, orders(api), 5)
}

func TestWakeDeliversBeforeTheNextLook(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		cfg := d.config()
		cfg.Poll = time.Hour
		b := box(t, quick(api, &log), cfg)
		for i := range 3 {
			d.order(t, b, fmt.Sprint(i))
			b.Wake()
			arrive(t, api, i+1)
		}
	})
}

func TestABoxThatOnlyWritesDeliversNothing(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		cfg := d.config()
		cfg.WriteOnly = true
		writer, err := outbox.Open(footfall.Config{SiteID: footfalltest.SiteID, DefaultURL: "https://example.com/", BaseURL: api.URL, APIKey: footfalltest.Key}, cfg)
		require.NoError(t, err)
		d.order(t, writer, "1")
		writer.Wake()
		require.NoError(t, closeWithin(writer, time.Second))
		d.order(t, writer, "2") // after Close
		lag, err := writer.Lag(t.Context())
		require.NoError(t, err)
		assert.Equal(t, int64(2), lag.Events)
		assert.Less(t, lag.Oldest, patience)
		assert.Empty(t, api.Requests())
		b := box(t, quick(api, &log), d.config())
		flush(t, b)
		assert.ElementsMatch(t, []string{"1", "2"}, orders(api))
		lag, err = b.Lag(t.Context())
		require.NoError(t, err)
		assert.Equal(t, outbox.Lag{}, lag)
	})
}

func TestANilAndADisabledBoxDoNothing(t *testing.T) {
	t.Parallel()
	disabled, err := outbox.Open(footfall.Config{Disabled: true}, outbox.Config{})
	require.NoError(t, err)
	for _, b := range []*outbox.Box{nil, disabled} {
		require.NoError(t, b.Track(t.Context(), nil, "paid"))
		b.Wake()
		require.NoError(t, b.Flush(t.Context()))
		_, out := b.Outage()
		assert.False(t, out)
		lag, err := b.Lag(t.Context())
		require.NoError(t, err)
		assert.Zero(t, lag)
		assert.Zero(t, b.Stats())
		require.NoError(t, b.Close(t.Context()))
	}
}

func TestOpenNamesEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := outbox.Open(footfall.Config{}, outbox.Config{Table: "Events", Lease: time.Millisecond, Poll: -1, MaxHeld: -1, Timeout: -1, Dialect: outbox.SQLite})
	for _, field := range []string{"Config.BaseURL", "Config.APIKey", "Config.SiteID", "outbox.Config.DB", "outbox.Config.Table", "outbox.Config.Lease", "outbox.Config.Poll", "outbox.Config.MaxHeld", "outbox.Config.Timeout"} {
		assert.ErrorContains(t, err, field+":")
	}
	_, err = outbox.Open(footfall.Config{Transport: nothing{}}, outbox.Config{DB: &sql.DB{}})
	assert.ErrorContains(t, err, "Config.Transport")
	assert.ErrorContains(t, err, "outbox.Config.Dialect")
}

// Close gives back what is not in flight, and waits for the rest.
func TestCloseLosesNothing(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		api.Always(footfalltest.Delay(300*time.Millisecond, footfalltest.Accept()))
		d.migrate(t)
		cfg := quick(api, &log)
		cfg.MaxInFlight = 2
		first := d.config()
		first.Lease = time.Hour // nothing comes back by itself
		b := box(t, cfg, first)
		for i := range 20 {
			d.order(t, b, fmt.Sprint(i))
		}
		require.Eventually(t, func() bool { return len(api.Requests()) >= 2 }, patience, time.Millisecond)
		require.NoError(t, closeWithin(b, patience))
		s := b.Stats()
		assert.Equal(t, 0, s.Held)
		assert.Equal(t, s.Claimed, s.Delivered+s.Returned)
		assert.GreaterOrEqual(t, s.Delivered, uint64(2))
		assert.Equal(t, 20-int(s.Delivered), d.rows(t))
		require.NoError(t, closeWithin(b, time.Second), "again")
		api.Always(nil)
		flush(t, box(t, quick(api, &log), d.config()))
		assert.Len(t, api.Events(), 20)
		assert.Len(t, api.Requests(), 20, "each was sent once")
	})
}

func TestCloseObeysItsContext(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		api.Always(footfalltest.Hang())
		d.migrate(t)
		cfg := d.config()
		cfg.Lease = time.Hour
		b := box(t, quick(api, &log), cfg)
		d.order(t, b, "1")
		require.Eventually(t, func() bool { return len(api.Requests()) == 1 }, patience, time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, b.Close(ctx), context.DeadlineExceeded)
		api.Always(nil)
		flush(t, box(t, quick(api, &log), d.config())) // the row was given back
		assert.Equal(t, []string{"1"}, orders(api))
	})
}

func TestFlushSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	d := openSQLite(t)
	api, log := footfalltest.NewAPI(t), footfalltest.Log{}
	api.Always(footfalltest.Status(503))
	d.migrate(t)
	b := box(t, quick(api, &log), d.config())
	d.order(t, b, "1")
	require.Eventually(t, func() bool { return len(api.Requests()) > 1 }, patience, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := b.Flush(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var answer *footfall.APIError
	require.ErrorAs(t, err, &answer)
	assert.Equal(t, 503, answer.Status)
	_, out := b.Outage()
	assert.True(t, out)
}

// nothing is a Transport that delivers nothing.
type nothing struct{}

func (nothing) Deliver(context.Context, *footfall.Source) {}

// The table is away for a while.
func TestFlushOutlastsErrorsOfTheDatabase(t *testing.T) {
	t.Parallel()
	d := openSQLite(t)
	d.migrate(t)
	b := box(t, quick(footfalltest.NewAPI(t), &footfalltest.Log{}), d.config())
	d.exec(t, "ALTER TABLE footfall_outbox RENAME TO elsewhere")
	flushed := make(chan error, 1)
	go func() { flushed <- b.Flush(t.Context()) }()
	select {
	case err := <-flushed:
		require.Fail(t, "Flush has returned", err)
	case <-time.After(200 * time.Millisecond):
	}
	d.exec(t, "ALTER TABLE elsewhere RENAME TO footfall_outbox")
	require.NoError(t, <-flushed)
}

// database/sql panics with a nil context, and never unlocks the application's DB again.
func TestANilContextNeverEnds(t *testing.T) {
	t.Parallel()
	api, log := footfalltest.NewAPI(t), footfalltest.Log{}
	d := openSQLite(t)
	d.migrate(t)
	b := box(t, quick(api, &log), d.config())
	var none context.Context
	require.NoError(t, b.Track(none, d.DB, "order_paid"))
	require.NoError(t, b.Flush(none))
	lag, err := b.Lag(none)
	require.NoError(t, err)
	assert.Equal(t, outbox.Lag{}, lag)
	rejections, err := outbox.OpenRejections(d.config())
	require.NoError(t, err)
	for _, err := range rejections.All(none) {
		require.NoError(t, err)
	}
	for _, move := range []func(context.Context, ...string) (int, error){rejections.Retry, rejections.Purge} {
		n, err := move(none)
		require.NoError(t, err)
		assert.Zero(t, n)
		_, err = move(none, "no row")
		assert.ErrorIs(t, err, outbox.ErrNotRejected)
	}
	require.NoError(t, outbox.Check(none, d.DB, d.config()))
	require.NoError(t, b.Close(none))
}

func TestTheHookOfAConfigIsCounted(t *testing.T) {
	t.Parallel()
	d := openSQLite(t)
	d.migrate(t)
	cfg := quick(footfalltest.NewAPI(t), &footfalltest.Log{})
	cfg.BeforeSend = func(e footfall.Event) (footfall.Event, bool) {
		switch e.Name {
		case "panics":
			panic("oops")
		case "ends":
			runtime.Goexit()
		}
		return e, e.Name == "sent"
	}
	b := box(t, cfg, d.config())
	for _, name := range []string{"sent", "dropped", "panics", "ends"} {
		var tracking sync.WaitGroup
		tracking.Go(func() { _ = b.Track(t.Context(), d.DB, name) })
		tracking.Wait()
	}
	s := b.Stats()
	assert.Equal(t, outbox.Stats{Tracked: 1, Invalid: 2, Filtered: 1}, outbox.Stats{Tracked: s.Tracked, Invalid: s.Invalid, Filtered: s.Filtered})
}
