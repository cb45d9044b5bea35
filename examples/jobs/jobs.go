package jobs

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/footfall-dev/footfall"
)

// Order is the argument of a job: an order to be paid.
type Order struct {
	Number string `json:"number"`
	Cents  int    `json:"cents"`
	Touch  string `json:"touch"` // footfall.Touch.String of the visit that led to the order
}

// Shop is the application. Its methods are called again when a job runs again.
type Shop interface {
	Charge(ctx context.Context, o Order) error
	SendReceipt(ctx context.Context, o Order) error
}

// Worker does the jobs of a process.
type Worker struct {
	Tracker *footfall.Tracker
	Shop    Shop
}

// Pay is the job of an order. task is the id of the job, which is the same when the job runs again.
func (w *Worker) Pay(ctx context.Context, task string, o Order) error {
	ctx = footfall.WithTracker(ctx, w.Tracker) // for footfall.Track in the shop
	ctx = footfall.WithURL(ctx, "https://shop.example.com/orders")
	ctx = footfall.WithTouch(ctx, footfall.ParseTouch(o.Touch))
	if err := w.Shop.Charge(ctx, o); err != nil {
		return err // no event; the job runs again
	}
	_ = w.Tracker.TrackEvent(ctx, footfall.Event{ // an event that is not queued is counted and logged, and no reason to charge again
		Name: "order_paid", ID: EventID(task, "order_paid"), Props: []footfall.Prop{footfall.P("amount", o.Cents)},
	})
	return w.Shop.SendReceipt(ctx, o) // if it fails, the job runs again, and tracks an event with the same ID
}

// EventID returns an Event.ID made of parts of any length and any characters, such as a task's id and the name of the event.
func EventID(parts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%+q", parts)))
}
