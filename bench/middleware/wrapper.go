package middleware

import (
	"fmt"
	"net/http"
)

// wrapper is a middleware, set up.
type wrapper struct {
	name, setting string
	wrap          func(http.Handler) http.Handler
	before        func()       // each measurement; may be nil
	most          cost         // target; zero if there is none
	arrived       func() int64 // how many requests the background told its server of; nil if of none
	requests      int64        // so far
}

// notes says how w is set, and what it dropped.
func (w *wrapper) notes() (all []string) {
	if w.setting != "" {
		all = append(all, w.name+": "+w.setting+".")
	}
	if w.arrived != nil {
		if dropped := w.requests - w.arrived(); dropped != 0 {
			all = append(all, fmt.Sprintf("%s dropped %d of the %d that it had to tell of.", w.name, dropped, w.requests))
		}
	}
	return all
}

func (w *wrapper) prepare() {
	if w.before != nil {
		w.before()
	}
}
