package storefront

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"time"

	_ "modernc.org/sqlite"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/outbox"
)

// Orders are the orders of the shop, in a database. An order and its event are committed together, so that
// there is never one without the other, even if the program is killed. A nil *Orders keeps no orders, and their events
// wait in the tracker's memory.
type Orders struct {
	db  *sql.DB
	box *outbox.Box
}

const ordersTable = `CREATE TABLE orders (
	number TEXT    PRIMARY KEY,
	items  INTEGER NOT NULL,
	amount INTEGER NOT NULL, -- in cents
	touch  TEXT    NOT NULL, -- how the visit began, as footfall.Touch writes it
	placed INTEGER NOT NULL, -- milliseconds since 1970
	paid   INTEGER           -- NULL until the payment is settled
);
CREATE INDEX orders_unpaid ON orders (placed) WHERE paid IS NULL;`

// OpenOrders opens the database, which it creates if there is none. Its events go to the API of cfg.
func OpenOrders(ctx context.Context, file string, cfg footfall.Config) (*Orders, error) {
	file = (&url.URL{Path: file}).EscapedPath()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	o := &Orders{db: db}
	if err = o.commit(ctx, createTables); err == nil {
		cfg.LandingProp = "landing"
		o.box, err = outbox.Open(cfg, outbox.Config{DB: db, Dialect: outbox.SQLite})
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return o, nil
}

// createTables does what a tool for migrations would do in a larger shop.
func createTables(ctx context.Context, tx *sql.Tx) error {
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil || version > 0 {
		return err
	}
	events, err := outbox.Schema(outbox.SQLite, "", "")
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, ordersTable+events+"PRAGMA user_version = 1")
	return err
}

// commit runs f in a transaction.
func (o *Orders) commit(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := f(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	o.box.Wake() // otherwise the event leaves within a second
	return nil
}

// place stores an order and its event. The event has the campaign of the visit, because ctx has the touch; the order
// keeps the touch for later events.
func (o *Orders) place(ctx context.Context, order Order, touch footfall.Touch) (number string, err error) {
	number = rand.Text()[:orderDigits]
	props := []footfall.Prop{
		footfall.P("items", order.Basket.Pieces()),
		footfall.P("amount", order.Total()),
		footfall.P("currency", Currency),
	}
	if o == nil {
		_ = footfall.Track(ctx, "order_placed", props...)
		return number, nil
	}
	return number, o.commit(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?, ?, ?, ?, ?, NULL)",
			number, order.Basket.Pieces(), int(order.Total()), touch.String(), time.Now().UnixMilli())
		if err != nil {
			return err
		}
		return o.box.Track(ctx, tx, "order_placed", props...)
	})
}

// settleAfter is when the bank has settled a payment. In a real shop it is an hour, or a day.
const settleAfter = 3 * time.Second

// Settle is a job that runs until ctx ends. It settles the payments of orders, long after their requests.
func (o *Orders) Settle(ctx context.Context, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(settleAfter / 6):
		}
		if err := o.SettleBefore(ctx, time.Now().Add(-settleAfter)); err != nil && ctx.Err() == nil {
			log.Error("payments are not settled", "error", err)
		}
	}
}

// SettleBefore settles the payments of the orders that were placed before a time.
func (o *Orders) SettleBefore(ctx context.Context, placed time.Time) error {
	for {
		err := o.commit(ctx, func(ctx context.Context, tx *sql.Tx) error { return o.settleNext(ctx, tx, placed) })
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// settleNext settles one payment. Its event has the campaign of the visit, which the order kept.
func (o *Orders) settleNext(ctx context.Context, tx *sql.Tx, placed time.Time) error {
	var amount int
	var touch string
	err := tx.QueryRowContext(ctx, `UPDATE orders SET paid = ? WHERE number =
		(SELECT number FROM orders WHERE paid IS NULL AND placed < ? ORDER BY placed LIMIT 1) RETURNING amount, touch`,
		time.Now().UnixMilli(), placed.UnixMilli()).Scan(&amount, &touch)
	if err != nil {
		return err
	}
	visit := footfall.WithTouch(ctx, footfall.ParseTouch(touch))
	return o.box.Track(visit, tx, "order_paid", footfall.P("amount", amount), footfall.P("currency", Currency))
}

// Stats counts the events of orders.
func (o *Orders) Stats() outbox.Stats { return o.box.Stats() }

// Flush waits until the events of all orders are delivered.
func (o *Orders) Flush(ctx context.Context) error { return o.box.Flush(ctx) }

// Close closes the database. Events that are not delivered stay in it, and the next start delivers them.
func (o *Orders) Close(ctx context.Context) error { return errors.Join(o.box.Close(ctx), o.db.Close()) }
