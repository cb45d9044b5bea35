package retry

import "math"

// The bounds of the breakers that exist at a time. Further sites and kinds share others.
const (
	maxSites    = 64
	maxKinds    = 256
	sharedSites = 16
	sharedKinds = 64
)

// isShared reports whether a site stands for several.
func isShared(site uint64) bool { return site > math.MaxUint64-sharedSites }

// sharedSite returns the site that stands for a site without a breaker of its own.
func sharedSite(site uint64) uint64 { return math.MaxUint64 - site%sharedSites }

// sharedKind returns the kind that stands for a kind without a breaker of its own.
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
func (s *Scopes) ensure(k Kind) (kind, site *breaker) {
	at := k.Site
	if s.sites[at] == nil && len(s.sites) >= maxSites && !evict(s.sites, isShared) {
		at = sharedSite(at)
	}
	if site = s.sites[at]; site == nil {
		site = &breaker{streak: streak{accepted: s.api.accepted}}
		s.sites[at] = site
	}
	if s.kinds[k] == nil && len(s.kinds) >= maxKinds && !evict(s.kinds, func(k Kind) bool { return isShared(k.Site) }) {
		k = sharedKind(k)
	}
	if kind = s.kinds[k]; kind == nil {
		kind = &breaker{streak: streak{accepted: site.accepted}}
		s.kinds[k] = kind
	}
	return kind, site
}

// evict removes a breaker without failures, if there is one that is not shared.
func evict[K comparable](from map[K]*breaker, shared func(K) bool) bool {
	for k, b := range from {
		if !shared(k) && !b.fails() {
			delete(from, k)
			return true
		}
	}
	return false
}
