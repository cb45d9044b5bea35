package fibertest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
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

func (s Subject[C, R]) patternsAreFibers(t *testing.T) {
	for _, row := range patternRows {
		t.Run(row.pattern, func(t *testing.T) {
			t.Parallel()
			rule := seen("GET " + row.pattern)
			for name := range row.props {
				rule.PathProps = append(rule.PathProps, name)
			}
			byRoute := footfall.Rule{Route: rule.Route, Event: "by route", Page: footfall.PageRoute}
			tracker, every := footfalltest.New(t), footfalltest.New(t)
			app := s.watched(tracker, rule, byRoute)
			app.Use(s.Middleware(every.Tracker, footfall.Rule{Route: footfall.AnyRoute}))
			s.get(app, row.pattern, func(c C) error { return s.Track(c, "tracked") })
			require.NoError(t, s.CheckRules(tracker.Tracker, app, rule, byRoute))
			base, stop := s.open(t, app)
			assert.Equal(t, 200, ask(t, base, "GET", row.path))
			stop()
			events := append(tracker.Events(), every.Events()...)
			require.Len(t, events, 4)
			pages := make(map[string]string)
			for _, e := range events {
				pages[e.Name] = e.URL
				if e.Name == "seen" {
					assert.Equal(t, row.props, e.Props)
				}
			}
			want := map[string]string{"seen": base + row.page, "by route": base + row.byRoute, row.name: base + row.page, "tracked": base + row.page}
			assert.Equal(t, want, pages)
		})
	}
}

func (s Subject[C, R]) plusIsACatchAll(t *testing.T) {
	tracker := footfalltest.New(t)
	app := s.watched(tracker, footfall.Rule{Route: footfall.NoRoute, Event: "missing"})
	s.get(app, "/help/+", func(c C) error { return c.SendStatus(404) })
	s.get(app, "/articles/:slug/", func(c C) error { return c.SendStatus(404) })
	base, stop := s.open(t, app)
	ask(t, base, "GET", "/help/me")
	ask(t, base, "GET", "/articles/none/")
	stop()
	assert.Equal(t, []string{"missing"}, tracker.Names())
}
