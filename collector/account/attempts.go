package account

import (
	"net/netip"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/internal/limit"
)

// Passwords that may be tried: so many at once, then one each Every. Each costs a
// fraction of a second of computing, so there is a limit to those of all strangers
// together: 30 a minute in the long run.
var (
	triesOfOne       = limit.Rate{Every: 12 * time.Second, Burst: 5}
	triesOfStrangers = limit.Rate{Every: 2 * time.Second, Burst: 20}
)

// maxTriers bounds each table of Attempts. Strangers are far below it: the limit of all
// of them lets at most 50 networks have used up anything at a time.
const maxTriers = 1024

// Attempts bounds how often passwords are tried: by each network, by each browser that
// has signed in before, and by all strangers together. So an attacker with many
// addresses slows down who signs in from a new browser, and nobody else: to the owner's
// browsers the limit of all does not apply, wherever they are. It is safe for concurrent
// use.
type Attempts struct {
	browsers *limit.Table[string]

	mu       sync.Mutex // strangers are asked of two limits at once
	networks *limit.Table[netip.Prefix]
	all      limit.Bucket
}

// NewAttempts returns Attempts of which none were made.
func NewAttempts() *Attempts {
	return &Attempts{
		browsers: limit.NewTable[string](triesOfOne, maxTriers),
		networks: limit.NewTable[netip.Prefix](triesOfOne, maxTriers),
	}
}

// Take uses up a try, or returns how long there is none. The browser is the id that
// Account.BrowserOf returned; empty for one that has not signed in before.
func (a *Attempts) Take(now time.Time, from netip.Addr, browser string) (wait time.Duration) {
	if browser != "" {
		return a.browsers.Take(now, browser)
	}
	network := limit.PrefixOf(from)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.networks.Prune(now) // few: see maxTriers
	if wait := a.networks.Wait(now, network); wait > 0 {
		return wait // takes none of the others' tries
	}
	if wait := a.all.Take(now, triesOfStrangers); wait > 0 {
		return wait
	}
	return a.networks.Take(now, network)
}

// Forgive gives who has signed in his tries back, but for those of all strangers.
func (a *Attempts) Forgive(from netip.Addr, browser string) {
	if browser != "" {
		a.browsers.Forgive(browser)
		return
	}
	a.networks.Forgive(limit.PrefixOf(from))
}
