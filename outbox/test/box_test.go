package test

import (
	"testing"

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
