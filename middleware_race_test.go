package footfall_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
)

// watched is a middleware that reads the request in another goroutine until it is answered,
// like a log of slow requests.
func watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var watcher sync.WaitGroup
		watcher.Go(func() {
			_ = r.Form.Get("q") + r.PostForm.Get("q") + r.Pattern + r.PathValue("id") + r.Method + r.Host + r.URL.Path
			_ = r.MultipartForm
		})
		next.ServeHTTP(w, r)
		watcher.Wait()
	})
}

// Run with -race.
func TestOuterMiddlewareMayReadTheRequestInAnotherGoroutine(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "shoes", r.URL.Query().Get("q"))
	})
	parsed := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.NoError(t, r.ParseForm())
			watched(next).ServeHTTP(w, r)
		})
	}
	routed := func(next http.Handler) http.Handler { return mounted("GET /products/{id}", watched(next)) }
	for name, around := range map[string]func(http.Handler) http.Handler{
		"a request without a form and a pattern":  watched,
		"a form that was parsed above":            parsed,
		"pattern and path values of a mux above":  routed,
		"a form and a pattern, both of the above": func(next http.Handler) http.Handler { return mounted("GET /products/{id}", parsed(next)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{around: around, rules: []footfall.Rule{{Route: footfall.AnyRoute}}}.open(t, handler)
			for range 20 {
				site.get(t, "/products/42?q=shoes")
			}
			site.Close()
		})
	}
}

// The maps are compared by identity, so another map with the same contents counts as changed.
func TestOuterMiddlewareSeesTheFormThatTheHandlerReplaced(t *testing.T) {
	t.Parallel()
	var form, postForm, pathValue string
	site := setup{around: func(next http.Handler) http.Handler {
		return mounted("/products/{id}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.NoError(t, r.ParseForm())
			next.ServeHTTP(w, r)
			form, postForm, pathValue = r.Form.Get("q"), r.PostForm.Get("q"), r.PathValue("id")
		}))
	}}.open(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		r.Form = map[string][]string{"q": {"boots"}}
		r.PostForm = map[string][]string{"q": {"hats"}}
		r.SetPathValue("id", "43")
	}))
	site.get(t, "/products/42?q=shoes")
	site.Close()
	assert.Equal(t, []string{"boots", "hats", "43"}, []string{form, postForm, pathValue})
}
