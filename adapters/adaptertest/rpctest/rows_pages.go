package rpctest

import (
	"context"
	"fmt"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func pageIsTheConfigured(t *testing.T, s Subject) {
	const app = "https://app.example.com/editor?utm_source=mail"
	tests := []struct {
		name   string
		source footfall.PageSource
		header map[string]string
		want   string // "" is the page of the call
	}{
		{"the Referer", footfall.PageReferer, map[string]string{"Referer": app}, app},
		{"no Referer", footfall.PageReferer, nil, ""},
		{"a Referer of another host", footfall.PageReferer, map[string]string{"Referer": "https://evil.example/x"}, ""},
		{"the Referer is not asked for", 0, map[string]string{"Referer": app}, ""},
		{"the header", 0, map[string]string{"X-Page": app}, app},
		{"the header before the Referer", footfall.PageReferer, map[string]string{"X-Page": app, "Referer": "https://app.example.com/"}, app},
		{"the header with another host", 0, map[string]string{"X-Page": "https://evil.example/x"}, ""},
		{"the route", footfall.PageRoute, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, kind Kind) {
				change := func(c *footfall.Config) {
					c.Page, c.PageHeader, c.Hosts = tt.source, "X-Page", []string{"127.0.0.1", "app.example.com"}
				}
				p := kind.procedure(tracking(t, kind))
				site := s.openWith(t, change, []footfall.Rule{{Route: p.Name, Event: "seen"}}, p)
				expectWell(t, site.call(t, p, tt.header, "a"), "a")
				want := tt.want
				if want == "" {
					want = "http://" + site.Address + p.Name
				}
				events := site.events()
				expectNames(t, events, "in", "seen")
				expectPages(t, events, want)
			})
		})
	}
}

func hostsCostNoEvent(t *testing.T, s Subject) {
	shop := []string{"shop.example.com", "*.shop.example.com"}
	tests := []struct {
		host      string
		hosts     []string // of the Config
		want      string
		sanitized uint64
	}{
		{"evil.example", nil, "evil.example", 0},
		{"bad$host!", nil, "unknown.invalid", 2},
		{"bad$host!", shop, "shop.example.com", 2},
		{"evil.example", shop, "shop.example.com", 2},
		{"eu.shop.example.com", shop, "eu.shop.example.com", 0},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s of %q", tt.host, tt.hosts), func(t *testing.T) {
			each(t, func(t *testing.T, kind Kind) {
				p := kind.procedure(tracking(t, kind))
				var log footfalltest.Log
				change := func(c *footfall.Config) { c.Hosts, c.Logger = tt.hosts, log.Logger() }
				site := s.openWith(t, change, []footfall.Rule{{Route: p.Name, Event: "seen"}}, p)
				site.host = tt.host
				expectWell(t, site.call(t, p, nil, "a"), "a")
				events := site.events()
				expectNames(t, events, "in", "seen")
				expectPages(t, events, "http://"+tt.want+p.Name)
				if stats := site.Tracker.Stats(); stats.Sanitized != tt.sanitized {
					t.Errorf("of 2 events %d were sanitized, want %d", stats.Sanitized, tt.sanitized)
				}
				if _ = site.Tracker.Close(t.Context()); log.String() != "" {
					t.Errorf("logged: %s", log.String())
				}
			})
		})
	}
}

// failingWith is a handler that answers with an error.
func failingWith(code Code) func(context.Context, Stream) error {
	return func(context.Context, Stream) error { return &Error{Code: code, Message: "it fails"} }
}

func rulesForAProcedureSilenceAnyRoute(t *testing.T, s Subject) {
	each(t, func(t *testing.T, kind Kind) {
		health, failing, other := kind.procedure(tracking(t, kind)), kind.procedure(failingWith(NotFound)), kind.procedure(echo(kind))
		failing.Name += "Failing"
		other.Name += "Other"
		site := s.open(t, []footfall.Rule{
			{Route: health.Name, Event: footfall.NoEvent},
			{Route: failing.Name, Event: "done", Status: footfall.Success},
			{Route: footfall.AnyRoute, Event: "any"},
		}, health, failing, other)
		expectWell(t, site.call(t, health, nil, "a"), "a")
		if a := site.call(t, failing, nil, "a"); a.Error.Code != NotFound {
			t.Errorf("answered with %v", a.Error)
		}
		expectWell(t, site.call(t, other, nil, "a"), "a")
		expectNames(t, site.events(), "in", "any")
	})
}

func statusIsAPropAndAClass(t *testing.T, s Subject) {
	each(t, func(t *testing.T, kind Kind) {
		working, failing := kind.procedure(echo(kind)), kind.procedure(failingWith(NotFound))
		failing.Name += "Failing"
		site := s.open(t, []footfall.Rule{
			{Route: footfall.AnyRoute, Event: "any", StatusProp: "status"},
			{Route: footfall.AnyRoute, Event: "2xx", Status: footfall.Status2xx, StatusProp: "status"},
			{Route: footfall.AnyRoute, Event: "3xx", Status: footfall.Status3xx, StatusProp: "status"},
		}, working, failing)
		expectWell(t, site.call(t, working, nil, "a"), "a")
		site.call(t, failing, nil, "a")
		events := site.events()
		expectNames(t, events, "any", "any", "2xx")
		for _, e := range events {
			want := 200.0
			if e.URL == "http://"+site.Address+failing.Name {
				want = 404
			}
			if e.Props["status"] != want {
				t.Errorf("%s on %s has status %v, want %v", e.Name, e.URL, e.Props["status"], want)
			}
		}
	})
}
