package footfallgqlgen_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

type operations struct {
	tracker *footfall.Tracker
	rules   *footfall.Rules
	known   map[string]bool // such as "query /Products"
}

// newOperations takes rules such as footfall.Rule{Route: "query /Products", Event: "products_viewed"}.
func newOperations(tracker *footfall.Tracker, rules ...footfall.Rule) *operations {
	known := make(map[string]bool)
	for _, r := range rules {
		known[r.Route] = true
	}
	return &operations{tracker, tracker.Rules(rules...), known}
}

// around calls execute, which returns the status of the operation's errors: 200 without errors, 500 for an unknown one.
// kind is query, mutation or subscription.
func (o *operations) around(r *http.Request, kind, name string, execute func(context.Context) (status int)) {
	route := kind + " /" + name
	if !o.known[route] {
		route = kind + " /other"
	}
	page := o.tracker.Page(r).WithRoute(route)
	status := http.StatusInternalServerError // if execute panics
	defer func() {
		o.rules.NoteObserved(r.Context())
		o.rules.Observe(&footfall.Observation{Method: kind, Route: route, Status: status, Page: page, Context: r.Context(), Request: r})
	}()
	status = execute(o.tracker.WithPage(r.Context(), page))
}

// The recipe for other servers is the code above.
func TestTheRecipeOfTheDocumentsWorks(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("recipe_test.go")
	require.NoError(t, err)
	docs, err := os.ReadFile("../../../docs/frameworks.md")
	require.NoError(t, err)
	_, recipe, _ := strings.Cut(string(source), "\n)\n\n")
	recipe, _, _ = strings.Cut(recipe, "\n// The recipe")
	assert.Contains(t, string(docs), "```go\n"+recipe+"```\n")

	tracker := newTracker(t)
	o := newOperations(tracker.Tracker, footfall.Rule{Route: "query /Products", Event: "products_viewed", Status: footfall.Success}, everything)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /graphql", func(_ http.ResponseWriter, r *http.Request) {
		o.around(r, "query", r.URL.RawQuery, func(ctx context.Context) int {
			assert.NoError(t, footfall.Track(ctx, "tracked"))
			switch r.URL.RawQuery {
			case "panic":
				panic("it fails")
			case "Products":
				return http.StatusOK
			}
			return http.StatusNotFound
		})
	})
	handler := tracker.Middleware(everything)(mux)
	for name, want := range map[string]string{"Products": "products_viewed", "Invented": "query_other", "panic": "query_other"} {
		before := len(tracker.Names())
		ask := func() {
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/graphql?"+name, nil))
		}
		if name == "panic" {
			assert.PanicsWithValue(t, "it fails", ask)
		} else {
			ask()
		}
		assert.Equal(t, []string{"tracked", want}, tracker.Names()[before:])
	}
}
