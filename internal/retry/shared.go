package retry

import (
	"math"
	"time"
)

// The bounds of the breakers that exist at a time. Further sites and kinds share others.
const (
	maxSites    = 64
	maxKinds    = 256
	sharedSites = 16
	sharedKinds = 64
)

// isShared reports whether a site stands for several.
func isShared(site uint64) bool { return site > math.MaxUint64-sharedSites }

// sharedSite returns the site that stands for a site without its own breaker.
func sharedSite(site uint64) uint64 { return math.MaxUint64 - site%sharedSites }

// sharedKind returns the kind that stands for a kind without its own breaker.
func sharedKind(k Kind) Kind {
	return Kind{Site: math.MaxUint64, Name: (k.Site ^ k.Name) % sharedKinds}
}

func (s *Scopes) siteOf(k Kind) uint64 {
	if s.sites[k.Site] == nil {
		return sharedSite(k.Site)
	}
	return k.Site
}

func (s *Scopes) kindOf(k Kind) Kind {
	if s.kinds[k] == nil {
		return sharedKind(k)
	}
	return k
}

// ensure returns the breakers of k and of its site, and makes those that do not exist. A scope in
// which nothing has failed yet counts as accepting as long as the one that contains it does.
func (s *Scopes) ensure(k Kind, now time.Time) (kind, site *breaker) {
	at := k.Site
	if s.sites[at] == nil && len(s.sites) >= maxSites && !evict(s.sites, isShared, now) {
		at = sharedSite(at)
	}
	if site = s.sites[at]; site == nil {
		site = &breaker{streak: streak{accepted: s.api.accepted}}
		s.sites[at] = site
	}
	if s.kinds[k] == nil && len(s.kinds) >= maxKinds && !evict(s.kinds, func(k Kind) bool { return isShared(k.Site) }, now) {
		k = sharedKind(k)
	}
	if kind = s.kinds[k]; kind == nil {
		kind = &breaker{streak: streak{accepted: site.accepted}}
		s.kinds[k] = kind
	}
	return kind, site
}

// tidy removes the breakers of a kind and its site that are as if nothing had failed, now that an event of the
// kind is accepted. If the kind shares a breaker with kinds that fail, it gets a separate breaker.
func (s *Scopes) tidy(k Kind, now time.Time) {
	b, others := s.kinds[k], s.kinds[sharedKind(k)]
	switch {
	case b == nil && others != nil && len(s.kinds) < 2*maxKinds:
		s.kinds[k] = &breaker{streak: streak{accepted: now}}
	case b != nil && others == nil && b.isIdle() && now.Sub(b.limited) > lately:
		delete(s.kinds, k)
	}
	if others != nil && others.isIdle() {
		delete(s.kinds, sharedKind(k))
	}
	site := s.siteOf(k)
	if b := s.sites[site]; b != nil && b.isIdle() && !b.pace.isKnown(now) {
		delete(s.sites, site)
	}
}

// evict removes a breaker without failures, if there is one that is not shared and has not accepted an event
// lately.
func evict[K comparable](from map[K]*breaker, shared func(K) bool, now time.Time) bool {
	for k, b := range from {
		if !shared(k) && !b.fails() && now.Sub(b.accepted) > lately {
			delete(from, k)
			return true
		}
	}
	return false
}
