// Package echovisit watches requests for the adapters for echo v4 and v5.
//
// An adapter may be built with a later version of this package than its own: what is exported
// keeps its name and its meaning, and interfaces get no more methods.
package echovisit

import (
	"net/http"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/internal/ending"
)

// Context is the context of a version of echo.
type Context interface {
	Request() *http.Request
	SetRequest(*http.Request)
	Param(name string) string
}

// Passage is one request on its way through the handlers below the middleware.
type Passage[C Context] struct {
	C        C
	Visit    footfall.Visit
	Came     *http.Request // the original
	Inner    *http.Request // which the handlers have
	Err      error
	returned bool
}

// Run calls the handlers.
func (p *Passage[C]) Run(next func(C) error) error {
	p.C.SetRequest(p.Inner)
	p.Err = next(p.C)
	p.returned = true
	return p.Err
}

// values are the values of a route's wildcards.
type values[C Context] struct{ c C }

// PathValue implements footfall.PathValuer.
func (v values[C]) PathValue(name string) string { return v.c.Param(name) }

// End records the answer, except that o has the route, the header, and the status that counts if
// nothing has been written yet. It passes on the value of a panic. later is for an error that is
// not answered yet: it arranges for its argument to be called when an answer begins. later is nil
// without an error, and if that is impossible.
func (p *Passage[C]) End(panicked any, o footfall.Observation, later func(func(status int, header http.Header))) {
	o.Path, o.Request = values[C]{p.C}, p.Inner
	switch {
	case ending.Early(&o, panicked, p.returned):
	case p.Visit.Status() != 0: // echo knows nothing of a flush, and of an upgrade only its error
		o.Status = p.Visit.Status()
	case later != nil: // which a middleware above answers, or the HTTPErrorHandler
		p.Visit.End(footfall.Observation{Request: p.Inner}) // hands back what is known by now; it makes no event
		endLater(p.Visit, o, later)
		return
	}
	p.Visit.End(o)
	if p.Err == nil && panicked == nil && p.C.Request() == p.Inner {
		p.C.SetRequest(p.Came)
	}
	if panicked != nil {
		panic(panicked)
	}
}

// endLater has no Passage, so that none is on the heap.
func endLater(visit footfall.Visit, o footfall.Observation, later func(func(status int, header http.Header))) {
	answered := false
	later(func(status int, header http.Header) {
		if !answered {
			answered, o.Status, o.Header = true, status, header
			visit.End(o)
		}
	})
}
