package account

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Deletion is a site whose events are being removed, which may take minutes. It is recorded, so
// that it continues after a restart.
type Deletion struct {
	Site   string    `json:"site"` // ID
	Domain string    `json:"domain"`
	Since  time.Time `json:"since"`
}

// lateEvents is how long after the deletion of a site an event of it may still be stored, because
// its request was under way.
const lateEvents = time.Minute

// Deletions returns the deletions under way, the oldest first.
func (a *Account) Deletions() []Deletion {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return sorted(a.deletions, func(Deletion) bool { return true }, func(x, y Deletion) int {
		return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.Site, y.Site))
	})
}

// Deleted receives a value after a deletion has begun.
func (a *Account) Deleted() <-chan struct{} { return a.deleted }

// DeleteSite removes a site with its goals and funnels. Its events are removed by
// [Account.FinishDeletion], also if DeleteSite fails halfway.
func (a *Account) DeleteSite(ctx context.Context, id string) error {
	site, ok := a.Site(id)
	if !ok {
		return ErrNotFound
	}
	a.mu.Lock()
	err := a.beginDeletion(ctx, Deletion{Site: id, Domain: site.Domain, Since: time.Now().UTC()})
	a.mu.Unlock()
	if err != nil {
		return err
	}
	return a.dropSite(ctx, id)
}

// beginDeletion writes down a deletion. The caller holds the lock.
func (a *Account) beginDeletion(ctx context.Context, d Deletion) error {
	if err := save(ctx, a, kindDeletion, d.Site, a.deletions, d); err != nil {
		return err
	}
	select {
	case a.deleted <- struct{}{}:
	default:
	}
	return nil
}

// FinishDeletion removes the events of a deleted site. The deletion stays under way for a minute,
// because an event may be late: call FinishDeletion again then, and after an error.
func (a *Account) FinishDeletion(ctx context.Context, d Deletion) error {
	if err := a.dropSite(ctx, d.Site); err != nil { // in case that DeleteSite was interrupted
		return err
	}
	settled := time.Since(d.Since) > lateEvents
	if err := a.store.Forget(ctx, d.Site, time.Time{}); err != nil || !settled {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	err := remove(ctx, a, kindDeletion, d.Site, a.deletions)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// dropSite removes a site with its goals and funnels. It does nothing if the site does not exist.
func (a *Account) dropSite(ctx context.Context, id string) error {
	for _, g := range a.Goals(id) {
		if err := a.DeleteGoal(ctx, g.ID); err != nil {
			return err
		}
	}
	for _, f := range a.Funnels(id) {
		if err := a.DeleteFunnel(ctx, f.ID); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	domain := a.sites[id].Domain
	if err := remove(ctx, a, kindSite, id, a.sites); err != nil {
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	}
	delete(a.domains, domain)
	return nil
}
