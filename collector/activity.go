package collector

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// recent is how recent a site's last event must be for its tracking to be active.
const recent = 24 * time.Hour

// activity holds the time of each site's last event. It reads the store once, at the start.
type activity struct {
	last sync.Map // site id → *atomic.Int64, milliseconds
}

func (a *activity) load(ctx context.Context, st store.Store, sites []account.Site) error {
	now := time.Now()
	for i := range sites {
		q := store.Query{Site: sites[i].ID, From: now.Add(-recent), To: now.Add(time.Minute)} // the clock may have been set back
		events, err := st.Recent(ctx, q, 1)
		if err != nil {
			return err
		}
		if len(events) > 0 {
			a.saw(sites[i].ID, events[0].At)
		}
	}
	return nil
}

func (a *activity) saw(site string, at time.Time) {
	v, ok := a.last.Load(site)
	if !ok {
		v, _ = a.last.LoadOrStore(site, new(atomic.Int64))
	}
	v.(*atomic.Int64).Store(at.UnixMilli())
}

func (a *activity) isRecent(site string, now time.Time) bool {
	v, ok := a.last.Load(site)
	return ok && now.Sub(time.UnixMilli(v.(*atomic.Int64).Load())) < recent
}

// prune drops deleted sites.
func (a *activity) prune(acc *account.Account) {
	a.last.Range(func(id, _ any) bool {
		if _, ok := acc.Site(id.(string)); !ok {
			a.last.Delete(id)
		}
		return true
	})
}
