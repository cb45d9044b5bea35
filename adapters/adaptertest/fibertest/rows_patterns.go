package fibertest

import (
	"net/http"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
)

// patternRows are routes with a request to each, and the expected events of a rule with PathProps
// and of AnyRoute. page and byRoute are the pages, without the address, with PagePath and PageRoute.
var patternRows = []struct {
	pattern, path string
	props         map[string]any
	name          string
	page, byRoute string
}{
	{"/flights/:from-:to", "/flights/LAX-SFO", map[string]any{"from": "LAX", "to": "SFO"}, "get_flights_from__to", "/flights/LAX-SFO", "/flights/%7Bfrom%7D-%7Bto%7D"},
	{"/dl/:token.zip", "/dl/k3y.zip", map[string]any{"token": "k3y"}, "get_dl_token_zip", "/dl/%7Btoken%7D", "/dl/%7Btoken%7D.zip"},
	{"/r/:user-:token", "/r/ada-k3y", map[string]any{"user": "ada", "token": "k3y"}, "get_r_user__token", "/r/%7Btoken%7D", "/r/%7Buser%7D-%7Btoken%7D"},
	{"/days/:day<len(2)>.:month", "/days/01.12", map[string]any{"day": "01", "month": "12"}, "get_days_day__month", "/days/01.12", "/days/%7Bday%7D.%7Bmonth%7D"},
	{"/opt/:key?", "/opt/k3y", map[string]any{"key": "k3y"}, "get_opt_key", "/opt/%7Bkey%7D", "/opt/%7Bkey%7D"},
	{"/c++", "/c+lang/a", map[string]any{"+": "lang/a"}, "get_c", "/c+lang/a", "/c++"},
	{"/help/+", "/help/a/b", map[string]any{"+": "a/b"}, "get_help_any", "/help/a/b", "/help/+"},
	{"/files/*/:token", "/files/a/b/k3y", map[string]any{"token": "k3y"}, "get_files_token", "/files/a/b/%7Btoken%7D", "/files/*/%7Btoken%7D"},
	{"/user/reset/:key", "/USER/reset/k3y", map[string]any{"key": "k3y"}, "get_user_reset_key", "/USER/reset/%7Bkey%7D", "/user/reset/%7Bkey%7D"},
}

func (s Subject[C, R]) patternsAreFibers(st *adaptertest.Stage) {
	for _, row := range patternRows {
		st.Each(row.pattern, func(st *adaptertest.Stage) {
			rule := adaptertest.Seen("GET " + row.pattern)
			for name := range row.props {
				rule.PathProps = append(rule.PathProps, name)
			}
			byRoute := footfall.Rule{Route: rule.Route, Event: "by route", Page: footfall.PageRoute}
			every := st.Another(st.T)
			st.Watch(rule, byRoute)
			st.App.Watch(every.Tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute})
			s.on(st, row.pattern, func(c C) error { return s.Track(c, "tracked") })
			require.NoError(st, st.App.CheckRules(st.Tracker.Tracker, rule, byRoute))
			assert.Equal(st, 200, st.Get(row.path))
			st.Stop()
			events := append(st.Tracker.Events(), every.Tracker.Events()...)
			require.Len(st, events, 4)
			pages := make(map[string]string)
			for _, e := range events {
				pages[e.Name] = strings.TrimPrefix(e.URL, st.URL(""))
				if e.Name == "seen" {
					assert.Equal(st, row.props, e.Props)
				}
			}
			assert.Equal(st, map[string]string{"seen": row.page, "by route": row.byRoute, row.name: row.page, "tracked": row.page}, pages)
		})
	}
}

func (s Subject[C, R]) plusIsACatchAll(st *adaptertest.Stage) {
	st.Watch(footfall.Rule{Route: footfall.NoRoute, Event: "missing"})
	for _, path := range []string{"/help/+", "/articles/:slug/"} {
		s.on(st, path, func(c C) error { return c.SendStatus(404) })
	}
	st.Get("/help/me")
	st.Get("/articles/none/")
	st.Expect("missing")
}

// docs/middleware.md says how to count a refusal, because Fiber does not know the route of one by a
// middleware of a group.
func (s Subject[C, R]) refusalsAreCounted(st *adaptertest.Stage) {
	st.Watch(footfall.Rule{Route: footfall.AnyRoute, Status: footfall.Failure})
	refuse := func(c C) error { return c.SendStatus(http.StatusUnauthorized) }
	app := s.fiber(st.App)
	s.Add(app, http.MethodGet, "/admin", Handlers[C]{refuse, fine[C]})
	group := s.Group(app, "/api", Handlers[C]{func(c C) error {
		assert.NoError(st, s.Track(c, "access_refused"))
		return refuse(c)
	}})
	s.Add(group, http.MethodGet, "/orders", Handlers[C]{fine[C]})
	assert.Equal(st, http.StatusUnauthorized, st.Get("/admin"))
	assert.Equal(st, http.StatusUnauthorized, st.Get("/api/orders"))
	events := st.Expect("get_admin", "access_refused")
	assert.Equal(st, st.URL("/api/orders"), events[1].URL)
}
