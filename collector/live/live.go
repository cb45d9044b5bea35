// Package live sends stored events to the watchers of their site.
package live

import (
	"sync"

	"github.com/footfall-dev/footfall/collector/store"
)

// Hub connects the store with live views. The zero Hub is ready to use. It is safe for
// concurrent use.
type Hub struct {
	mu       sync.Mutex
	watchers map[string]map[chan store.Event]struct{} // by site
}

// backlog is how many events a watcher may lag behind before it misses some.
const backlog = 64

// Publish sends e to the watchers of its site. It never blocks: slow watchers miss e.
func (h *Hub) Publish(e store.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for events := range h.watchers[e.Site] {
		select {
		case events <- e:
		default:
		}
	}
}

// Watch returns a channel with the site's events until stop is called. It is not closed.
func (h *Hub) Watch(site string) (events <-chan store.Event, stop func()) {
	ch := make(chan store.Event, backlog)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = make(map[string]map[chan store.Event]struct{})
	}
	if h.watchers[site] == nil {
		h.watchers[site] = make(map[chan store.Event]struct{})
	}
	h.watchers[site][ch] = struct{}{}
	return ch, func() { h.leave(site, ch) }
}

func (h *Hub) leave(site string, ch chan store.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers[site], ch)
	if len(h.watchers[site]) == 0 {
		delete(h.watchers, site)
	}
}
