// Package ending records how a handler ended. Adapters that call the handler themselves share it.
//
// An adapter may be built with a later version of this package than its own: what is exported
// keeps its name and its meaning.
package ending

import (
	"errors"
	"net/http"

	"github.com/footfall-dev/footfall"
)

// Early changes the observation of a handler that did not return: it is Aborted after
// http.ErrAbortHandler and runtime.Goexit, and has status 500 after another panic. Early reports
// whether the handler did not return. panicked is the value that the caller recovered.
func Early(o *footfall.Observation, panicked any, returned bool) bool {
	err, _ := panicked.(error)
	switch {
	case errors.Is(err, http.ErrAbortHandler), panicked == nil && !returned:
		o.Aborted = true
	case panicked != nil:
		o.Status = http.StatusInternalServerError
	default:
		return false
	}
	return true
}
