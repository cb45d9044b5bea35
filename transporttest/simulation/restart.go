package simulation

import (
	"context"
	"testing/synctest"
	"time"
)

// restart opens a second tracker on the stored events, with a working API, and waits until all
// have arrived.
func (r *run) restart() {
	stored := r.tracker.Stats().Stored
	r.heal()
	r.note("a second tracker starts, with %d events stored", stored)
	if !r.open() {
		return
	}
	const looks = 200
	patience := r.patience()
	for range looks {
		if r.unstored() == 0 {
			break
		}
		time.Sleep(patience / looks)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.tracker.Close(ctx); err != nil {
		r.fault("restart", none, "Close of the second tracker returned %v", err)
	}
	synctest.Wait()
	if n := r.unstored(); n > 0 {
		r.fault("restart", none, "%d events are not delivered by the second tracker", n)
	}
}

// unstored returns how many events that the API would settle are not settled, except events
// that the first tracker dropped.
func (r *run) unstored() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(0, len(r.left())-int(r.dropped))
}
