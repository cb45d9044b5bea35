// Package storetest tests implementations of store.Store. [Run] is the conformance suite,
// and [Reference] an implementation that is simple enough to be trusted.
package storetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

var _ store.Store = (*Reference)(nil)

// Reference is a store in memory. It keeps a slice of events and scans all of it for each
// report. It is safe for concurrent use.
type Reference struct {
	// Now is the clock of the window for duplicates. Set it before the first Add.
	// Defaults to time.Now.
	Now func() time.Time

	// IdempotencyWindow is how long a Key is remembered. Set it before the first Add.
	// Defaults to store.DuplicateFor.
	IdempotencyWindow time.Duration

	mu      sync.Mutex
	closed  bool
	events  []store.Event // in the order of adding, or by At if sorted
	sorted  bool
	keys    map[siteKey]time.Time
	records map[string]map[string][]byte // by kind and ID
}

type siteKey struct{ site, key string }

// NewReference returns an empty store.
func NewReference() *Reference {
	return &Reference{
		Now:     time.Now,
		keys:    make(map[siteKey]time.Time),
		records: make(map[string]map[string][]byte),
	}
}

// enter locks r and returns the function that unlocks it.
func (r *Reference) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, store.ErrClosed
	}
	return r.mu.Unlock, nil
}

// Add implements store.Store.
func (r *Reference) Add(ctx context.Context, e store.Event) (added bool, err error) {
	leave, err := r.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	if r.duplicate(e) {
		return false, nil
	}
	e.At = e.At.UTC().Truncate(time.Millisecond)
	e.Props = slices.Clone(e.Props)
	e.Key = ""
	r.sorted = r.sorted && (len(r.events) == 0 || !e.At.Before(r.events[len(r.events)-1].At))
	r.events = append(r.events, e)
	return true, nil
}

func (r *Reference) duplicate(e store.Event) bool {
	if e.Key == "" {
		return false
	}
	now, k := r.Now(), siteKey{e.Site, e.Key}
	if added, ok := r.keys[k]; ok && now.Sub(added) < cmp.Or(r.IdempotencyWindow, store.DuplicateFor) {
		return true
	}
	r.keys[k] = now
	return false
}

// matches reports whether an event is one of a goal or of a step of a funnel.
func matches(m store.Match, e store.Event) bool {
	switch {
	case m.Event != "":
		if e.Name != m.Event {
			return false
		}
	case m.Page != "":
		if e.Name != "" || !glob(m.Page, e.Path) {
			return false
		}
	default:
		return false
	}
	return m.PropKey == "" || slices.ContainsFunc(e.Props, func(p store.Prop) bool {
		return p.Key == m.PropKey && p.Value == m.PropValue
	})
}

// glob reports whether pattern matches all of s; * matches any characters. It tracks all
// possible places in the pattern after each byte, so its time is at most len(pattern) times
// len(s).
func glob(pattern, s string) bool {
	places, next := make([]bool, len(pattern)+1), make([]bool, len(pattern)+1)
	places[0] = true
	skipStars(places, pattern)
	for i := range len(s) {
		clear(next)
		for place := range len(pattern) {
			switch {
			case !places[place]:
			case pattern[place] == '*':
				next[place] = true
			case pattern[place] == s[i]:
				next[place+1] = true
			}
		}
		skipStars(next, pattern)
		places, next = next, places
	}
	return places[len(pattern)]
}

// skipStars adds the places behind stars, which also match nothing.
func skipStars(places []bool, pattern string) {
	for place := range len(pattern) {
		if places[place] && pattern[place] == '*' {
			places[place+1] = true
		}
	}
}

// Funnel implements store.Store.
func (r *Reference) Funnel(ctx context.Context, q store.Query, steps []store.Match) (store.Funnel, error) {
	leave, err := r.enter(ctx)
	if err != nil {
		return store.Funnel{}, err
	}
	defer leave()
	f := store.Funnel{Steps: make([]store.FunnelStep, len(steps))}
	of := make(map[uint64][]fitting)
	for _, e := range r.in(q) {
		matched := false
		fits := make([]bool, len(steps))
		for i, step := range steps {
			if fits[i] = matches(step, e); fits[i] {
				f.Steps[i].Count++
				matched = true
			}
		}
		switch {
		case e.Visitor != 0:
			of[e.Visitor] = append(of[e.Visitor], fitting{e.At, fits})
		case matched:
			f.Visitorless++
		}
	}
	for _, events := range of {
		for i := range furthest(events, len(steps)) {
			f.Steps[i].Visitors++
		}
	}
	return f, nil
}

// fitting is an event of a visitor with the steps that it matches.
type fitting struct {
	at   time.Time
	fits []bool
}

// furthest returns the most steps that a visitor took, starting at any of its events.
func furthest(events []fitting, steps int) int {
	best := 0
	for i, first := range events {
		if steps > 0 && first.fits[0] {
			best = max(best, follow(events[i:], steps))
		}
	}
	return best
}

// follow returns how many steps were taken, starting at the first event.
func follow(events []fitting, steps int) int {
	first := events[0].at
	done, last := 1, first
	for _, e := range events[1:] {
		if done == steps || e.at.Sub(first) > 24*time.Hour {
			break
		}
		if e.at.After(last) && e.fits[done] {
			done, last = done+1, e.at
		}
	}
	return done
}

// Recent implements store.Store.
func (r *Reference) Recent(ctx context.Context, q store.Query, limit int) ([]store.Event, error) {
	leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	events := r.in(q)
	slices.Reverse(events)
	return events[:min(len(events), max(limit, 0))], nil
}

// Export implements store.Store.
func (r *Reference) Export(ctx context.Context, q store.Query, each func(store.Event) error) error {
	leave, err := r.enter(ctx)
	if err != nil {
		return err
	}
	events := r.in(q)
	leave() // each may be slow, or call r
	for _, e := range events {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := each(e); err != nil {
			return err
		}
	}
	return nil
}

// Put implements store.Store.
func (r *Reference) Put(ctx context.Context, kind string, rec store.Record) error {
	leave, err := r.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if r.records[kind] == nil {
		r.records[kind] = make(map[string][]byte)
	}
	r.records[kind][rec.ID] = bytes.Clone(rec.Data)
	return nil
}

// Remove implements store.Store.
func (r *Reference) Remove(ctx context.Context, kind, id string) error {
	leave, err := r.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	delete(r.records[kind], id)
	return nil
}

// Records implements store.Store.
func (r *Reference) Records(ctx context.Context, kind string) ([]store.Record, error) {
	leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var all []store.Record
	for id, data := range r.records[kind] {
		all = append(all, store.Record{ID: id, Data: bytes.Clone(data)})
	}
	slices.SortFunc(all, func(a, b store.Record) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// Sites implements store.Store.
func (r *Reference) Sites(ctx context.Context) ([]string, error) {
	leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var sites []string
	for _, e := range r.events {
		sites = append(sites, e.Site)
	}
	slices.Sort(sites)
	return slices.Compact(sites), nil
}

// Forget implements store.Store.
func (r *Reference) Forget(ctx context.Context, site string, before time.Time) error {
	leave, err := r.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	r.events = slices.DeleteFunc(r.events, func(e store.Event) bool {
		return e.Site == site && (before.IsZero() || e.At.Before(before))
	})
	maps.DeleteFunc(r.keys, func(k siteKey, _ time.Time) bool { return k.site == site && before.IsZero() })
	return nil
}

// Backup returns errors.ErrUnsupported, because a Reference has no file.
func (r *Reference) Backup(ctx context.Context, _ string) error {
	leave, err := r.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return errors.ErrUnsupported
}

// Close implements store.Store.
func (r *Reference) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return store.ErrClosed
	}
	r.closed = true
	return nil
}
