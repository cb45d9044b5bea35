package dashboard

import (
	"math"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Sign-ins that may be tried: so many at once, then one each interval. Each costs a
// fraction of a second of computing, so there is a limit to those of all clients
// together. It lets an attacker with many addresses keep the owner waiting, which is
// the lesser evil.
const (
	clientTries    = 5
	clientInterval = 12 * time.Second
	allTries       = 20
	allInterval    = 2 * time.Second
	maxClients     = 1024
)

// limiter bounds how often sign-ins are tried. It keeps an entry for a client only
// while it has tries to win back, a minute, and the limit of all lets at most 50
// clients have that at once: far below maxClients, which is a second bolt.
type limiter struct {
	mu      sync.Mutex
	all     bucket
	clients map[netip.Prefix]bucket
}

// bucket says when all tries will be won back; the zero bucket is full.
type bucket struct{ full time.Time }

func newLimiter() *limiter { return &limiter{clients: make(map[netip.Prefix]bucket)} }

// take uses up a try, or returns how long there is none.
func (b *bucket) take(now time.Time, tries int, interval time.Duration) (wait time.Duration) {
	full := b.full
	if full.Before(now) {
		full = now
	}
	full = full.Add(interval)
	if wait = full.Sub(now) - time.Duration(tries)*interval; wait > 0 {
		return wait
	}
	b.full = full
	return 0
}

// take uses up a try of the client, or returns how long to wait for one.
func (l *limiter) take(now time.Time, client netip.Prefix) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := l.clients[client]
	if wait := mine.take(now, clientTries, clientInterval); wait > 0 {
		return wait // takes none of the others' tries
	}
	if wait := l.all.take(now, allTries, allInterval); wait > 0 {
		return wait
	}
	for other, b := range l.clients {
		if !b.full.After(now) || len(l.clients) >= maxClients {
			delete(l.clients, other)
		}
	}
	l.clients[client] = mine
	return 0
}

// forgive gives a client all of its tries back.
func (l *limiter) forgive(client netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.clients, client)
}

// clientPrefix is what a client can choose its addresses from: IPv6 ones get 64 bits.
func clientPrefix(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.Prefix(bits) // the zero Prefix for what is no address
	return prefix
}

func remoteAddr(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero address if it is none, such as a socket's
	return at.Addr()
}

// seconds rounds up, as Retry-After has to.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
