package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// ledger records the state of each event. Every event has a number.
type ledger struct {
	mu     sync.Mutex
	events []event // by number
	rows   []*row
	newest int // number that has arrived
	posts  int // that the collector accepted, repeated ones included
	errs   []error
}

// row is a shop's process.
type row struct {
	name   string
	killed bool
	ended  bool // events that are not Stored are lost
}

type event struct {
	row      *row
	answered bool // the request, by the shop
	stored   bool // as the shop printed
	arrived  bool
	counted  int // in the collector's store
}

// tracked reports whether the event was tracked. A shop may be killed between Track and its answer.
func (e *event) tracked() bool { return e.answered || e.wasStored() }

// wasStored reports whether the event was Stored. A shop may be killed before it prints that.
func (e *event) wasStored() bool { return e.stored || e.arrived || e.counted > 0 }

func (l *ledger) newRow(name string) *row {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = append(l.rows, &row{name: name})
	return l.rows[len(l.rows)-1]
}

// end notes that the process of a row has ended.
func (l *ledger) end(r *row, killed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.ended, r.killed = true, r.killed || killed
}

// send returns the numbers of new events, which a request makes.
func (l *ledger) send(r *row, n int) (numbers []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		numbers = append(numbers, len(l.events))
		l.events = append(l.events, event{row: r})
	}
	return numbers
}

// update changes an event. An unknown number becomes an error of the account.
func (l *ledger) update(number int, change func(e *event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if number < 0 || number >= len(l.events) {
		l.errs = append(l.errs, fmt.Errorf("there is no event %d", number))
		return
	}
	change(&l.events[number])
}

// arrive notes an event that the collector accepted.
func (l *ledger) arrive(e store.Event) {
	number := numberOf(e.Name, e.URL)
	l.update(number, func(sent *event) {
		sent.arrived = true
		l.posts++
		l.newest = max(l.newest, number)
	})
}

// count notes an event in the collector's store.
func (l *ledger) count(e store.Event) {
	l.update(numberOf(e.Name, e.URL), func(sent *event) { sent.counted++ })
}

// last returns the number of the last event.
func (l *ledger) last() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events) - 1
}

// awaitNewer returns when an event after number has arrived.
func (l *ledger) awaitNewer(ctx context.Context, number int) error {
	return poll(ctx, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.newest > number
	})
}

// awaitUpTo returns when all events up to number have arrived, except those that a killed shop had
// not stored.
func (l *ledger) awaitUpTo(ctx context.Context, number int) error {
	return poll(ctx, func() bool { return l.underWay(number) == 0 })
}

// underWay returns the number of events up to number that have yet to arrive.
func (l *ledger) underWay(number int) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.events[:number+1] {
		if e := &l.events[i]; !e.arrived && (e.stored || e.answered && !e.row.ended) {
			n++
		}
	}
	return n
}

func poll(ctx context.Context, done func() bool) error {
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// figures are the sums of a row.
type figures struct{ tracked, stored, arrived, twice, lost, missing, unanswered int }

func (f *figures) add(e *event) {
	for sum, is := range map[*int]bool{
		&f.tracked:    e.tracked(),
		&f.stored:     e.wasStored(),
		&f.arrived:    e.counted > 0,
		&f.lost:       e.tracked() && e.counted == 0,
		&f.missing:    e.wasStored() && e.counted == 0,
		&f.unanswered: !e.answered,
	} {
		if is {
			*sum++
		}
	}
	f.twice += max(e.counted-1, 0)
}

// print prints the account of each shop and of all, after count. The error names what must not happen.
func (l *ledger) print(out io.Writer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all, killed figures
	rows := make(map[*row]*figures)
	for _, r := range l.rows {
		rows[r] = new(figures)
	}
	for i := range l.events {
		e := &l.events[i]
		rows[e.row].add(e)
		all.add(e)
		if e.row.killed {
			killed.add(e)
		}
	}
	fmt.Fprintf(out, "\n%-16s %9s %9s %9s %9s %9s\n", "", "tracked", "Stored", "arrived", "twice", "lost")
	for _, r := range l.rows {
		name := r.name
		if r.killed {
			name += ", killed"
		}
		printRow(out, name, rows[r])
	}
	printRow(out, "all", &all)
	fmt.Fprintf(out, "\nStored and missing: %d. Counted twice: %d. Sent again, counted once: %d.\n", all.missing, all.twice, l.posts-all.arrived)
	if n := killed.lost - killed.missing; n > 0 {
		fmt.Fprintf(out, "Lost before they were Stored, in the queue of the killed shop: %d.\n", n)
	}
	if all.unanswered > 0 {
		fmt.Fprintf(out, "Events of requests that got no answer from a shop: %d.\n", all.unanswered)
	}
	return errors.Join(append(l.errs,
		wrong(all.missing, "events that were Stored and are missing"),
		wrong(all.twice, "events that were counted twice"),
		wrong(all.lost-all.missing-(killed.lost-killed.missing), "events that shops lost which were not killed"))...)
}

func printRow(out io.Writer, name string, f *figures) {
	fmt.Fprintf(out, "%-16s %9d %9d %9d %9d %9d\n", name, f.tracked, f.stored, f.arrived, f.twice, f.lost)
}

func wrong(n int, what string) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d", what, n)
}
