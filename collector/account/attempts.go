package account

import (
	"net/netip"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/internal/limit"
)

// Attempts to sign in: Burst at once, then one each Every. Each costs a fraction of a second
// of CPU time, so all unknown browsers together are limited, too: to 30 a minute in the long
// run.
var (
	triesOfOne       = limit.Rate{Every: 12 * time.Second, Burst: 5}
	triesOfStrangers = limit.Rate{Every: 2 * time.Second, Burst: 20}
)

// maxTriers bounds each table of Attempts. At most 50 networks are in use at a time, because
// triesOfStrangers limits all of them.
const maxTriers = 1024

// Attempts limits how often passwords are tried: by each network, by each browser that has
// signed in before, and by all unknown browsers together. An attacker with many addresses
// slows down sign-ins from new browsers only: the shared limit does not apply to browsers
// that have signed in before. It is safe for concurrent use.
type Attempts struct {
	browsers *limit.Table[string]

	mu       sync.Mutex // a network's attempt counts against two limits at once
	networks *limit.Table[netip.Prefix]
	all      limit.Bucket
}

// NewAttempts returns Attempts with nothing used up.
func NewAttempts() *Attempts {
	return &Attempts{
		browsers: limit.NewTable[string](triesOfOne, maxTriers),
		networks: limit.NewTable[netip.Prefix](triesOfOne, maxTriers),
	}
}

// Take uses one attempt, or returns the wait for the next. browser is the ID from
// [Account.BrowserOf]; empty for a browser that has not signed in before.
func (a *Attempts) Take(now time.Time, from netip.Addr, browser string) (wait time.Duration) {
	if browser != "" {
		return a.browsers.Take(now, browser)
	}
	network := limit.PrefixOf(from)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.networks.Prune(now) // the table is small: see maxTriers
	if wait := a.networks.Wait(now, network); wait > 0 {
		return wait // without using the shared limit
	}
	if wait := a.all.Take(now, triesOfStrangers); wait > 0 {
		return wait
	}
	return a.networks.Take(now, network)
}

// Forgive returns the attempts of a client that has signed in, except in the shared limit.
func (a *Attempts) Forgive(from netip.Addr, browser string) {
	if browser != "" {
		a.browsers.Forgive(browser)
		return
	}
	a.networks.Forgive(limit.PrefixOf(from))
}
