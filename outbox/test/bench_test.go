package test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/outbox"
)

// durable returns a server of PostgreSQL that waits for the disk at each commit.
func durable(t testing.TB, dir string) (*server, error) {
	s, err := newPostgreSQL(t, dir)
	if err == nil {
		s.args = append(s.args, "-c", "fsync=on") // the last one counts
	}
	return s, err
}

// shopOf migrates a database to one with orders of two lines each.
func shopOf(b *testing.B, d *database) {
	d.migrate(b)
	d.exec(b, "CREATE TABLE line (number VARCHAR(100), product INTEGER, cents INTEGER)")
}

// BenchmarkOrder commits an order with two lines, without and with an event.
func BenchmarkOrder(b *testing.B) {
	order := 0
	for name, one := range map[string]func(testing.TB) *database{
		"PostgreSQL": func(t testing.TB) *database {
			return open(t, outbox.PostgreSQL, "pgx", ownServer(t, durable).create(t))
		},
		"MariaDB": openMySQL,
		"SQLite":  openSQLite,
	} {
		d := one(b)
		shopOf(b, d)
		box, err := outbox.Open(footfall.Config{SiteID: "shop", DefaultURL: "https://shop.example.com/"}, outbox.Config{DB: d.DB, Dialect: d.dialect, WriteOnly: true})
		require.NoError(b, err)
		for variant, track := range map[string]bool{"without": false, "with": true} {
			b.Run(name+"/"+variant, func(b *testing.B) {
				for range b.N {
					order++
					require.NoError(b, buy(b.Context(), d.DB, box, fmt.Sprint(order), track))
				}
			})
		}
	}
}

func buy(ctx context.Context, db *sql.DB, box *outbox.Box, order string, track bool) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	for _, query := range []string{
		"INSERT INTO orders VALUES ('" + order + "')",
		"INSERT INTO line VALUES ('" + order + "', 1, 1000)",
		"INSERT INTO line VALUES ('" + order + "', 2, 3999)",
	} {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	if track {
		if err := box.Track(ctx, tx, "order_paid", footfall.P("order", order), footfall.P("amount", 4999)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// BenchmarkDelivery delivers events that are in a table, and beside it those in the queue of a tracker.
func BenchmarkDelivery(b *testing.B) {
	b.Run("tracker", func(b *testing.B) {
		api := footfalltest.NewAPI(b)
		cfg := api.Config()
		cfg.MaxQueueEvents = b.N + 1
		tracker, err := footfall.New(cfg)
		require.NoError(b, err)
		for range b.N {
			require.NoError(b, tracker.Track(b.Context(), "order_paid", footfall.P("amount", 4999)))
		}
		require.NoError(b, tracker.Close(b.Context()))
	})
	for name, open := range map[string]func(testing.TB) *database{"PostgreSQL": openPGX, "MariaDB": openMySQL, "SQLite": openSQLite} {
		b.Run(name, func(b *testing.B) {
			api, d := footfalltest.NewAPI(b), open(b)
			d.migrate(b)
			trackMany(b, d, api.Config(), b.N)
			b.ResetTimer()
			box, err := outbox.Open(api.Config(), outbox.Config{DB: d.DB, Dialect: d.dialect})
			require.NoError(b, err)
			ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
			defer cancel()
			require.NoError(b, box.Flush(ctx))
			b.StopTimer()
			require.NoError(b, box.Close(ctx))
			require.Equal(b, b.N, int(box.Stats().Delivered))
		})
	}
}

// trackMany writes n events in one transaction.
func trackMany(b *testing.B, d *database, cfg footfall.Config, n int) {
	box, err := outbox.Open(cfg, outbox.Config{DB: d.DB, Dialect: d.dialect, WriteOnly: true})
	require.NoError(b, err)
	tx, err := d.BeginTx(b.Context(), nil)
	require.NoError(b, err)
	for range n {
		require.NoError(b, box.Track(b.Context(), tx, "order_paid", footfall.P("amount", 4999)))
	}
	require.NoError(b, tx.Commit())
}
