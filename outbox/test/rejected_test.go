package test

import (
	"errors"
	"fmt"
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

// rejections returns the rejected events.
func (d *database) rejections(t testing.TB) (r *outbox.Rejections, all []outbox.Rejected) {
	t.Helper()
	r, err := outbox.OpenRejections(d.config())
	require.NoError(t, err)
	for one, err := range r.All(t.Context()) {
		require.NoError(t, err)
		all = append(all, one)
	}
	return r, all
}

func TestARejectedEventMovesWithItsReasonAndMayBeRetriedOrPurged(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		refusal := footfalltest.Body(409, "application/json", `{"error":"nö","message":"paused \"☃\" it's","status":409}`)
		api.Next(refusal, refusal, refusal)
		b := box(t, quick(api, &log), d.config())
		for i := range 3 {
			require.NoError(t, b.TrackEvent(t.Context(), d.DB, footfall.Event{Name: "order_paid", ID: fmt.Sprint("order:", i)}))
		}
		flush(t, b)
		r, all := d.rejections(t)
		require.Len(t, all, 3)
		for i, one := range all {
			assert.Equal(t, fmt.Sprint("order:", i), one.ID)
			assert.Equal(t, 409, one.Status)
			assert.Equal(t, `n\u00f6`, one.Code)
			assert.Equal(t, `paused "\u2603" it's`, one.Message)
			assert.Contains(t, string(one.Body), `"name":"order_paid"`)
			assert.WithinDuration(t, time.Now(), one.Time, patience)
		}
		assert.Contains(t, log.String(), "table=footfall_outbox_rejected")
		n, err := r.Retry(t.Context(), all[0].Row, all[0].Row, "01939f6e-2a7c-7d3f-8a4b-5c6d7e8f9a0b")
		require.ErrorIs(t, err, outbox.ErrNotRejected)
		assert.Equal(t, 1, n)
		flush(t, b)
		require.Len(t, api.Events(), 1)
		assert.Equal(t, "order:0", api.Events()[0].ID)
		n, err = r.Purge(t.Context(), all[1].Row)
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		n, err = r.Retry(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		flush(t, b)
		assert.Len(t, api.Events(), 2)
		_, all = d.rejections(t)
		assert.Empty(t, all)
		assert.Equal(t, uint64(3), b.Stats().Rejected)
	})
}

func TestARowThatIsNoEventMovesAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		writing := d.config()
		writing.WriteOnly = true
		w := box(t, quick(api, &log), writing)
		bad := []string{
			"body = ''", "body = 'nonsense'", `body = '[]'`, `body = '{"site_id":"site_test","name":"a"}'`,
			`body = '{"site_id":7,"name":"a","url":"https://example.com/"}'`, "idempotency_key = ' a'",
			fmt.Sprintf(`body = '{"site_id":"site_test","name":"%s","url":"https://example.com/"}'`, strings.Repeat("x", 2<<20)),
		}
		if d.dialect != outbox.PostgreSQL { // which has a type for it
			bad = append(bad, "id = 'x; DROP TABLE orders'", "id = ''", "id = '01939F6E-2A7C-7D3F-8A4B-5C6D7E8F9A0B'")
		}
		if d.dialect == outbox.SQLite {
			bad = append(bad, "id = 7", "body = 7", "leased_until = 'never', body = '{'", "claims = 'many', body = x'ff'")
		}
		for i, edit := range bad {
			key := fmt.Sprint("edited:", i)
			require.NoError(t, w.TrackEvent(t.Context(), d.DB, footfall.Event{Name: "order_paid", ID: key}))
			d.exec(t, fmt.Sprintf("UPDATE footfall_outbox SET %s WHERE idempotency_key = '%s'", edit, key))
			d.order(t, w, fmt.Sprint(i))
		}
		b := box(t, quick(api, &log), d.config())
		d.empty(t)
		assert.Len(t, orders(api), len(bad), "the rest")
		assert.Len(t, api.Requests(), len(bad))
		r, all := d.rejections(t)
		require.Len(t, all, len(bad))
		for _, one := range all {
			assert.Zero(t, one.Status)
			assert.Equal(t, "not_an_event", one.Code)
			assert.NotEmpty(t, one.Message)
		}
		assert.Equal(t, uint64(len(bad)), b.Stats().Rejected)
		n, err := r.Purge(t.Context())
		require.NoError(t, err)
		assert.Equal(t, len(bad), n)
	})
}

// A BLOB is equal to no text, so a row with such an id could not be found again.
func TestTheSchemaOfSQLiteRefusesAnIDThatIsNoText(t *testing.T) {
	t.Parallel()
	d := openSQLite(t)
	d.migrate(t)
	_, err := d.DB.ExecContext(t.Context(), "INSERT INTO footfall_outbox (id, body, created_at) VALUES (x'6964', '{}', 0)")
	assert.ErrorContains(t, err, "CHECK constraint failed")
}

// An event that was edited by hand and is one still is sent as it is.
func TestAnEventThatWasEditedByHandIsSent(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		writing := d.config()
		writing.WriteOnly = true
		require.NoError(t, box(t, quick(api, &log), writing).Track(t.Context(), d.DB, "order_paid"))
		d.exec(t, `UPDATE footfall_outbox SET body = '{"url": "https://example.com/", "name": "order_refunded", "site_id": "site_test"}'`)
		flush(t, box(t, quick(api, &log), d.config()))
		require.Len(t, api.Events(), 1)
		assert.Equal(t, "order_refunded", api.Events()[0].Name)
	})
}

func TestEachRejectedEventIsRetriedByOneOfSeveralCalls(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		api.Always(footfalltest.Status(422))
		d.migrate(t)
		b := box(t, quick(api, &log), d.config())
		const events = 250
		for i := range events {
			d.order(t, b, fmt.Sprint(i))
		}
		flush(t, b)
		require.NoError(t, closeWithin(b, patience))
		require.Equal(t, events, d.rejected(t))
		var calls sync.WaitGroup
		var mu sync.Mutex
		moved := 0
		for range 4 {
			calls.Go(func() {
				r, err := outbox.OpenRejections(d.config())
				assert.NoError(t, err)
				for range 20 {
					n, err := r.Retry(t.Context())
					mu.Lock()
					moved += n
					done := moved == events
					mu.Unlock()
					if done {
						return
					}
					if err != nil && !errors.Is(err, outbox.ErrNotRejected) {
						t.Log(err) // such as a deadlock
					}
				}
			})
		}
		calls.Wait()
		assert.Equal(t, events, moved)
		assert.Equal(t, events, d.rows(t))
		assert.Equal(t, 0, d.rejected(t))
		api.Always(nil)
		flush(t, box(t, quick(api, &log), d.config()))
		assert.Len(t, api.Events(), events)
	})
}

// Without the second table, rejected events stay, and the others are delivered.
func TestRejectedEventsThatCannotBeMovedHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		api.Always(footfalltest.Status(422))
		d.migrate(t)
		d.exec(t, "ALTER TABLE footfall_outbox_rejected RENAME TO elsewhere")
		cfg := d.config()
		cfg.MaxHeld = 4
		b := box(t, quick(api, &log), cfg)
		for i := range 8 {
			d.order(t, b, fmt.Sprint("bad", i))
		}
		require.Eventually(t, func() bool { return strings.Contains(log.String(), "cannot be moved") }, patience, time.Millisecond)
		api.Always(nil)
		for i := range 8 {
			d.order(t, b, fmt.Sprint(i))
		}
		require.Eventually(t, func() bool { return len(api.Events()) >= 8 }, patience, time.Millisecond)
		d.exec(t, "ALTER TABLE elsewhere RENAME TO footfall_outbox_rejected")
		d.empty(t)
		assert.Equal(t, 16, len(api.Events())+d.rejected(t))
		assert.Equal(t, 1, strings.Count(log.String(), "cannot be moved"))
	})
}

// A number that only the outbox writes holds up neither its row nor the others, whatever it is.
func TestARowWhoseNumbersWereEditedByHandIsDelivered(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		c := d.config()
		c.WriteOnly = true
		w := box(t, quick(api, &log), c)
		edits := []string{"claims = 2147483647", "claims = -5", "leased_until = -5", "leased_until = 9223372036854775807"}
		for i, edit := range edits {
			require.NoError(t, w.TrackEvent(t.Context(), d.DB, footfall.Event{Name: "edited", ID: fmt.Sprint("row:", i)}))
			_, err := d.ExecContext(t.Context(), fmt.Sprintf("UPDATE footfall_outbox SET %s WHERE idempotency_key = 'row:%d'", edit, i))
			require.NoError(t, err)
		}
		require.NoError(t, w.Track(t.Context(), d.DB, "good"))
		flush(t, box(t, quick(api, &log), d.config()))
		assert.Len(t, api.Events(), len(edits)+1)
	})
}
