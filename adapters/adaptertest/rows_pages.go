package adaptertest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// footfall.Track may not know the route: see the row of footfalltest.
func trackKnowsTheRoute(t *testing.T, f Framework) {
	for path, want := range map[string][2]string{ // with PagePath, and with PageRoute
		"/accounts/reset/k3y":       {"/accounts/reset/%7Bkey%7D", "/accounts/reset/%7Bkey%7D"},
		"/users/ada@example.com/me": {"/users/%7Bname%7D/me", "/users/%7Bname%7D/me"},
		"/users/ada/me":             {"/users/ada/me", "/users/%7Bname%7D/me"},
	} {
		for i, source := range []footfall.PageSource{footfall.PagePath, footfall.PageRoute} {
			t.Run(fmt.Sprintf("%s, page %d", path, source), func(t *testing.T) {
				t.Parallel()
				tracker, app := quiet(t, func(c *footfall.Config) { c.Page = source }), f.New()
				app.Watch(tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute, Event: "seen"})
				track := func(c Context) error {
					assert.NoError(t, c.Track("tracked"))
					return c.Answer(http.StatusOK, "")
				}
				app.Handle("/accounts", "GET", f.Pattern("/reset/{key}"), track)
				app.Handle(f.Pattern("/users/{name}"), "GET", "/me", track)
				base, stop := open(t, app)
				get(t, base, path)
				stop()
				events := tracker.Events()
				require.Len(t, events, 2)
				for _, e := range events {
					assert.Equal(t, base+want[i], e.URL, e.Name)
				}
			})
		}
	}
}
