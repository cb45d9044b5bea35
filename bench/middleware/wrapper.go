package middleware

import (
	"fmt"
	"net/http"
)

// wrapper is a configured middleware.
type wrapper struct {
	name, setting string
	wrap          func(http.Handler) http.Handler
	before        func()       // called before each measurement; may be nil
	most          cost         // target; zero if there is none
	arrived       func() int64 // number of requests reported by the background; nil if it reports none
	requests      int64        // so far
}

// notes returns the settings of w, and the number of dropped requests.
func (w *wrapper) notes() (all []string) {
	if w.setting != "" {
		all = append(all, w.name+": "+w.setting+".")
	}
	if w.arrived != nil {
		if dropped := w.requests - w.arrived(); dropped != 0 {
			all = append(all, fmt.Sprintf("%s dropped %d of the %d requests that it should have reported.", w.name, dropped, w.requests))
		}
	}
	return all
}

func (w *wrapper) prepare() {
	if w.before != nil {
		w.before()
	}
}
