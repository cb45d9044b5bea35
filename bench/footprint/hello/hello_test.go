//go:build ci

package hello

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachRequestIsTrackedWrappedAndAnswered(t *testing.T) {
	var tracked, wrapped int
	track := func(*http.Request) { tracked++ }
	wrap := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			wrapped++
			next.ServeHTTP(w, r)
		})
	}
	for _, h := range []http.Handler{newHandler(nil, nil), newHandler(track, nil), newHandler(nil, wrap), newHandler(track, wrap)} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		require.Equal(t, "hello\n", w.Body.String())
	}
	require.Equal(t, 2, tracked)
	require.Equal(t, 2, wrapped)
}
