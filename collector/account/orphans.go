package account

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Orphan is the ID of a site that does not exist, but has events. The site may be missing because
// its record was damaged or lost, so the events are kept for [KeepOrphans].
type Orphan struct {
	Site  string    `json:"site"`  // ID
	Found time.Time `json:"found"` // first
}

// KeepOrphans is how long the events of a site that does not exist are kept.
const KeepOrphans = 7 * 24 * time.Hour

// Until returns the time after which the events are removed.
func (o Orphan) Until() time.Time { return o.Found.Add(KeepOrphans) }

// KindOrphan is the kind of the records of orphans. A backup should leave them out, so that events
// are kept for the whole time again after a restore.
const KindOrphan = "orphan"

// Orphans returns the orphans that [Account.FindOrphans] has found, the oldest first.
func (a *Account) Orphans() []Orphan {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return sorted(a.orphans, func(Orphan) bool { return true }, func(x, y Orphan) int {
		return cmp.Or(x.Found.Compare(y.Found), cmp.Compare(x.Site, y.Site))
	})
}

// FindOrphans looks for events of sites that do not exist, and writes down when it found them
// first. It begins to delete the events of those whose time is over, and returns these orphans.
func (a *Account) FindOrphans(ctx context.Context) (expired []Orphan, err error) {
	ids, err := a.store.Sites(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	for _, o := range a.Orphans() {
		if slices.Contains(ids, o.Site) && a.isOrphan(o.Site) {
			continue
		}
		if err := a.dropOrphan(ctx, o.Site); err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		o, err := a.noteOrphan(ctx, id, now)
		if err != nil {
			return expired, err
		}
		if o.Site == "" || now.Before(o.Until()) {
			continue
		}
		if err := a.expire(ctx, id, now); err != nil {
			return expired, err
		}
		expired = append(expired, o)
	}
	return expired, nil
}

// RecoverSite registers a site with the ID and the events of an orphan. An empty name defaults to
// the domain, and an empty zone to UTC.
func (a *Account) RecoverSite(ctx context.Context, id, name, domain, zone string) (Site, error) {
	s := Site{ID: id, Name: name, Domain: domain, Zone: zone, CreatedAt: time.Now().UTC().Truncate(time.Second)}
	if err := s.clean(); err != nil {
		return s, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.orphans[id]; !ok {
		return s, ErrNotFound
	}
	if err := a.saveSite(ctx, &s); err != nil {
		return s, err
	}
	return s, remove(ctx, a, KindOrphan, id, a.orphans)
}

// isOrphan reports whether there is neither a site with this ID nor a deletion of one.
func (a *Account) isOrphan(id string) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	_, exists := a.sites[id]
	_, deleted := a.deletions[id]
	return !exists && !deleted
}

// noteOrphan writes down an orphan, unless it was before. It returns the zero Orphan for a site
// that is none.
func (a *Account) noteOrphan(ctx context.Context, id string, now time.Time) (Orphan, error) {
	if !a.isOrphan(id) {
		return Orphan{}, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, ok := a.orphans[id]; ok {
		return o, nil
	}
	o := Orphan{Site: id, Found: now}
	return o, save(ctx, a, KindOrphan, id, a.orphans, o)
}

// expire begins to delete the events of an orphan, unless its site was recovered meanwhile.
func (a *Account) expire(ctx context.Context, id string, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.orphans[id]; !ok {
		return nil
	}
	if err := a.beginDeletion(ctx, Deletion{Site: id, Since: now}); err != nil {
		return err
	}
	return remove(ctx, a, KindOrphan, id, a.orphans)
}

func (a *Account) dropOrphan(ctx context.Context, id string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return remove(ctx, a, KindOrphan, id, a.orphans)
}
