package ending

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
)

func TestEarlyTellsHowTheHandlerEnded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		panicked any
		returned bool
		want     footfall.Observation
		early    bool
	}{
		"it returned":                   {nil, true, footfall.Observation{Status: 404}, false},
		"runtime.Goexit":                {nil, false, footfall.Observation{Status: 404, Aborted: true}, true},
		"http.ErrAbortHandler":          {http.ErrAbortHandler, false, footfall.Observation{Status: 404, Aborted: true}, true},
		"http.ErrAbortHandler, wrapped": {fmt.Errorf("gone: %w", http.ErrAbortHandler), false, footfall.Observation{Status: 404, Aborted: true}, true},
		"an error":                      {errors.New("boom"), false, footfall.Observation{Status: 500}, true},
		"another value":                 {"boom", false, footfall.Observation{Status: 500}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := footfall.Observation{Status: 404}
			assert.Equal(t, tt.early, Early(&o, tt.panicked, tt.returned))
			assert.Equal(t, tt.want, o)
		})
	}
}
