// Package live hands events that were just stored to whoever watches their site.
package live

import (
	"sync"

	"github.com/footfall-dev/footfall/collector/store"
)

// Hub connects what stores events with what shows them. The zero Hub is ready; its
// methods may be called from several goroutines at once.
type Hub struct {
	mu       sync.Mutex
	watchers map[string]map[chan store.Event]struct{} // by site
}

// backlog is how many events a watcher may be behind before it misses some.
const backlog = 64

// Publish hands e to the watchers of its site. It never waits: who is too slow misses e.
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

// Watch returns the events of a site from now on, until stop is called. The channel is
// not closed.
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
