package simulation

import (
	"cmp"
	"slices"
	"time"
)

// limit is what the API does with the events of one kind, of one site, or all of them: it bounds their rate by a
// token bucket, or it is away for them for some time.
type limit struct {
	site, kind int           // none for all
	from, to   time.Duration // when the API is away
	rate       float64       // of the bucket in events a second; 0 if the API is away
	burst      float64       // its size
	status     int           // of the answers that refuse an event
	retryAfter time.Duration // the same; 0 for none
}

func (l *limit) covers(kind, sites int) bool {
	return (l.site == none || kind%sites == l.site) && (l.kind == none || kind == l.kind)
}

// bucket is a limit at work.
type bucket struct {
	*limit
	tokens float64
	at     time.Duration // when they were counted
}

// refuses reports whether the limit refuses an event now, which takes a token if it does not.
func (b *bucket) refuses(now time.Duration) bool {
	if b.rate == 0 {
		return now >= b.from && now < b.to
	}
	b.tokens, b.at = min(b.burst, b.tokens+(now-b.at).Seconds()*b.rate), now
	if b.tokens < 1 {
		return true
	}
	b.tokens--
	return false
}

// limit returns the limit that refuses an event of a kind now, or nil.
func (a *api) limit(kind int, now time.Duration) *limit {
	for i := range a.buckets {
		if b := &a.buckets[i]; b.covers(kind, a.script.sites) && b.refuses(now) {
			return b.limit
		}
	}
	return nil
}

// limitsOf returns the limits of events of a kind.
func (s *script) limitsOf(kind int) (limits []limit) {
	for _, l := range s.limits {
		if l.covers(kind, s.sites) {
			limits = append(limits, l)
		}
	}
	return limits
}

// plain makes the rest of the script plain, so that only limits have an effect.
func (g *generator) plain(k Kind) {
	g.fates, g.outages, g.kinds = nil, nil, []Kind{k}
	g.names, g.sites, g.apart = pick(g.mix, 1, 1, 2, 5), pick(g.mix, 1, 1, 3), anyKind
	g.config.MaxInFlight = pick(g.mix, 1, 4, 16, 64, 64)
	g.config.MaxQueueEvents, g.config.MaxQueueBytes = 50_000, 16<<20
	g.config.FlushInterval, g.config.AttemptTimeout = pick(g.mix, 20*time.Millisecond, time.Second), 5*time.Second
	g.config.BackoffMin, g.config.BackoffMax = 500*time.Millisecond, 15*time.Second
	g.config.ProbeMin, g.config.ProbeMax, g.config.MaxRetryAfter = 30*time.Second, 5*time.Minute, 5*time.Minute
	g.latency = pick(g.mix, 0, 5*time.Millisecond, 50*time.Millisecond)
	if g.closeAtOnce = g.mix.IntN(3) == 0; g.closeAtOnce {
		g.kinds = append(g.kinds, EarlyClose)
	}
	g.closing = pick(g.mix, time.Second, 10*time.Second, time.Minute) + 13*time.Millisecond
}

// quotas generates an API that accepts fewer events of a site, of a kind, or of all, than are tracked at times. In the
// second case, a few events of the other kinds fail, if that is allowed.
func (g *generator) quotas(allowed []Kind) {
	g.plain(Quota)
	rate := float64(2 + g.mix.IntN(60))
	l := limit{site: none, kind: none, rate: rate, burst: max(1, rate*pick(g.mix, 0, 0, 0.25, 1, 3)), status: 429}
	l.retryAfter = pick(g.mix, 0, 0, time.Second, time.Second, 3*time.Second)
	if g.sites > 1 && g.mix.IntN(2) == 0 {
		l.site = 0
	}
	fates := slices.DeleteFunc([]Kind{Limited, Poison, Fails}, func(k Kind) bool { return !slices.Contains(allowed, k) })
	if len(fates) > 0 && g.mix.IntN(3) == 0 {
		g.names, g.config.MaxInFlight = pick(g.mix, 2, 5), pick(g.mix, 16, 64)
		l.site, l.kind, g.fates = none, 0, []Kind{pick(g.mix, fates...)}
		g.kinds = append(g.kinds, g.fates...)
	}
	g.limits = []limit{l}
	if l.site == 0 && g.mix.IntN(2) == 0 {
		l.site, l.rate = 1, float64(2+g.mix.IntN(60)) // another one has its own
		l.burst = max(1, l.rate*pick(g.mix, 0, 0.25, 1))
		g.limits = append(g.limits, l)
	}
	load, left := rate*(0.3+2.5*g.mix.Float64()), 600+g.mix.IntN(900)
	for at := time.Duration(0); left > 0 && at < 90*time.Second; at += 10 * time.Second {
		n := min(left, int(10*load*2*g.mix.Float64()))
		left -= n
		g.tracks(at, n, pick(g.mix, 0, time.Duration(10*float64(time.Second)/float64(n+1))))
	}
}

// absences generates an API that is away for some kinds or sites, at times that may overlap.
func (g *generator) absences() {
	g.plain(Away)
	for range 1 + g.mix.IntN(min(4, g.names*g.sites)) {
		l := limit{site: none, kind: g.mix.IntN(g.names * g.sites), status: pick(g.mix, 429, 503)}
		if g.mix.IntN(3) == 0 {
			l.site, l.kind = g.mix.IntN(g.sites), none
		}
		l.from = time.Duration(g.mix.IntN(60)) * time.Second
		l.to = l.from + pick(g.mix, time.Second, 5*time.Second, 30*time.Second, 2*time.Minute)
		l.retryAfter = pick(g.mix, 0, time.Second, 2*time.Second, time.Minute, 5*time.Minute)
		g.limits = append(g.limits, l)
	}
	for at := time.Duration(0); at < 90*time.Second; at += 10 * time.Second {
		n := 5 + g.mix.IntN(60)
		g.tracks(at, n, pick(g.mix, 0, 10*time.Second/time.Duration(n+1)))
	}
}

// tracks adds a step with n events of all kinds.
func (g *generator) tracks(at time.Duration, n int, gap time.Duration) {
	if n == 0 {
		return
	}
	s := step{at: at, do: track, callers: 1, gap: gap}
	for range n {
		e := event{n: g.next, kind: g.mix.IntN(g.names * g.sites), fate: fate{kind: good}}
		if len(g.fates) > 0 && len(g.limitsOf(e.kind)) == 0 && g.mix.IntN(50) == 0 {
			e.fate = g.fate(g.fates[0])
		}
		s.events = append(s.events, e)
		g.next++
	}
	g.steps = append(g.steps, s)
}

// checkBeside checks that events of kinds without a limit are delivered soon, also if a few events of their kind
// fail: the limit holds for another kind. If answers to these events have a Retry-After, it may seem to hold for all.
func (r *run) checkBeside() {
	if !r.boundsOneKind() || r.closeAtOnce {
		return
	}
	for _, h := range r.events {
		if h == nil || !h.accepted || !h.fate.settlesAtOnce() || len(r.limitsOf(h.kind)) > 0 {
			continue
		}
		load := r.loadAt(h, h.tracked)
		due := h.tracked + r.bound(load) + doubt
		if slices.Contains(r.kinds, Limited) {
			due += time.Duration(2 * float64(load.ahead) / r.limits[0].rate * float64(time.Second))
		}
		if !h.settled || h.at > due {
			r.problem("beside", h.n, "#%d, tracked at %v beside a kind with a limit, was delivered at %v, due was %v", h.n, h.tracked, h.at, due)
			return
		}
	}
}

// checkLimits checks the events that limits cover, if they all could be delivered.
func (r *run) checkLimits() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checkBeside()
	for i := range r.limits {
		l := &r.limits[i]
		of := slices.DeleteFunc(slices.Clone(r.events), func(h *history) bool {
			return h == nil || !h.accepted || !l.covers(h.kind, r.sites)
		})
		if l.rate == 0 {
			r.checkAway(l, of)
		} else if len(of) > 0 {
			r.checkQuota(l, of)
		}
	}
}

// checkQuota checks that the API has got nearly as many events as it takes, and not many more requests.
func (r *run) checkQuota(l *limit, of []*history) {
	last, requests := of[0].tracked, 0
	for _, h := range of {
		last, requests = max(last, h.tracked), requests+len(h.attempts)
	}
	if bound := 4*len(of) + 200*r.names*r.sites; requests > bound {
		r.problem("quota requests", none, "%d requests for %d events at an API that takes %v a second, at most %d are due", requests, len(of), l.rate, bound)
	}
	if r.closeAtOnce {
		return
	}
	ideal := max(last-of[0].tracked, time.Duration(float64(len(of))/l.rate*float64(time.Second)))
	ideal = max(ideal, time.Duration(len(r.events)/r.config.MaxInFlight)*r.maxLag())
	share := ideal * 7 / 4
	if r.sites > 1 && l.site == none {
		share = ideal * 5 / 2 // each site finds its own rate
	}
	due := of[0].tracked + share + 15*time.Second + r.options.Slack
	slowest := slices.MaxFunc(of, func(a, b *history) int { return cmp.Compare(a.at, b.at) })
	if slowest.at > due {
		r.problem("quota", slowest.n, "the last of %d events was delivered at %v, due was %v at an API that takes %v a second", len(of), slowest.at, due, l.rate)
	}
}

// checkAway checks that the events of a kind or site are delivered soon after the API is back for them, and that
// it got few requests for them while it was away.
func (r *run) checkAway(l *limit, of []*history) {
	for _, h := range of {
		works, wait := h.tracked, time.Duration(0)
		for _, o := range r.limitsOf(h.kind) {
			works, wait = max(works, o.to), max(wait, min(o.retryAfter, r.config.MaxRetryAfter))
		}
		load := r.loadAt(h, works)
		due := works + wait + 2*r.config.BackoffMax + doubt + r.bound(load)
		if !r.closeAtOnce && h.at > due {
			r.problem("away", h.n, "#%d, tracked at %v, was delivered at %v, due was %v after the API was back at %v", h.n, h.tracked, h.at, due, works)
			return
		}
	}
	r.checkAwayRequests(l, of)
}

// checkAwayRequests bounds the requests while the API is away. It runs before Close.
func (r *run) checkAwayRequests(l *limit, of []*history) {
	requests := 0
	for _, h := range of {
		for _, at := range h.attempts {
			if at.from > l.from && at.from < l.to {
				requests++
			}
		}
	}
	bound := r.config.MaxInFlight + r.probes(l.to-l.from, Outage)*r.names*r.sites + r.unsettledIn(l.from, l.from+doubt)
	if requests > bound {
		r.problem("away requests", none, "%d requests while the API was away from %v to %v, at most %d are due", requests, l.from, l.to, bound)
	}
}

// checkQuotaAtClose checks that Close delivers about as many events as the API takes.
func (r *run) checkQuotaAtClose(c *closing) {
	if len(r.limits) != 1 || r.limits[0].rate == 0 || c.before.Dropped > 0 || r.options.Store {
		return
	}
	l := &r.limits[0]
	left, delivered := 0, 0
	for _, h := range c.left {
		if l.covers(h.kind, r.sites) {
			left++
			if h.settled {
				delivered++
			}
		}
	}
	const seek = 5 * time.Second // until the rate is found
	takes := int(l.rate / 2 * max(0, c.within-seek-l.retryAfter).Seconds())
	if delivered < min(left, takes) {
		r.problem("quota close", none, "Close delivered %d of %d events within %v to an API that takes %v a second", delivered, left, c.within, l.rate)
	}
}
