package collector

import (
	"net/http"
	"slices"
	"sync/atomic"
)

// Stats are figures of a [Collector] since [New].
type Stats struct {
	// Pending is the number of events that wait for their commit now.
	Pending int64

	// API and Browser count the events that backends and browsers sent, by outcome: "stored",
	// "ignored" for events of bots and of prefetching browsers, or the code of the error. An
	// event with a repeated Idempotency-Key is stored. They contain all outcomes.
	API, Browser map[string]int64
}

// Stats returns the current figures.
func (c *Collector) Stats() Stats {
	s := Stats{Pending: c.pending.Load(), API: c.fromAPI.counts(), Browser: c.fromBrowsers.counts()}
	s.Browser["ignored"] = c.ignored.Load()
	return s
}

// outcomeNames are the keys of the maps in [Stats].
var outcomeNames = [...]string{
	"stored", "ignored", "validation_failed", "unauthorized", "forbidden", "not_found", "method_not_allowed", "request_timeout",
	"site_paused", "payload_too_large", "unsupported_media_type", "rate_limited", "internal", "unavailable",
}

// outcomes counts events, by the index of the outcome's name.
type outcomes [len(outcomeNames)]atomic.Int64

// stored counts an event that was committed.
func (o *outcomes) stored() { o[0].Add(1) }

// refused counts a failure by its code.
func (o *outcomes) refused(code string) {
	if i := slices.Index(outcomeNames[:], code); i >= 0 {
		o[i].Add(1)
	}
}

func (o *outcomes) counts() map[string]int64 {
	all := make(map[string]int64, len(o))
	for i := range o {
		all[outcomeNames[i]] = o[i].Load()
	}
	return all
}

// counting calls handle and counts its failure, also a panic.
func (o *outcomes) counting(w http.ResponseWriter, r *http.Request, handle func(http.ResponseWriter, *http.Request) *failure) *failure {
	code := "internal"
	defer func() {
		if code != "" {
			o.refused(code)
		}
	}()
	f := handle(w, r)
	if code = ""; f != nil {
		code = f.code
	}
	return f
}
