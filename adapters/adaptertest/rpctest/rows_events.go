package rpctest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// echo sends back what it receives, in one message if one side does not stream.
func echo(kind Kind) func(context.Context, Stream) error {
	return func(_ context.Context, s Stream) error {
		var received []string
		for {
			message, err := s.Receive()
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			received = append(received, message)
			if kind == BidiStream {
				if err := s.Send(message); err != nil {
					return err
				}
			}
		}
		switch kind {
		case BidiStream:
			return nil
		case ServerStream:
			return sendAll(s, strings.Split(received[0], " "))
		}
		return s.Send(strings.Join(received, " "))
	}
}

func sendAll(s Stream, messages []string) error {
	for _, m := range messages {
		if err := s.Send(m); err != nil {
			return err
		}
	}
	return nil
}

// conversation returns the messages that a client sends to echo and receives.
func (k Kind) conversation(words ...string) (sent, received []string) {
	whole := []string{strings.Join(words, " ")}
	switch k {
	case ClientStream:
		return words, whole
	case ServerStream:
		return whole, words
	case BidiStream:
		return words, words
	}
	return whole, whole
}

func procedureIsTheRoute(t *testing.T, s Subject) {
	each(t, func(t *testing.T, kind Kind) {
		p := kind.procedure(echo(kind))
		other := Procedure{Name: "/rpctest.v1.Another/Procedure", Handler: echo(Unary)}
		site := s.open(t, []footfall.Rule{
			{Route: p.Name, Event: "seen"},
			{Route: "POST " + p.Name, Event: "posted", Status: footfall.Success},
			{Route: p.Name},
			{Route: "GET " + p.Name, Event: "got"},
			{Route: p.Name, Event: "failed", Status: footfall.Failure | footfall.Aborted},
			{Route: footfall.AnyRoute, Event: "another"},
			{Route: footfall.NoRoute, Event: "missing"},
		}, p, other)
		sent, received := kind.conversation("a", "b", "c")
		expectWell(t, site.call(t, p, nil, sent...), received...)
		events := site.events()
		expectNames(t, events, "seen", "posted", "post"+strings.ToLower(strings.NewReplacer("/", "_", ".", "_").Replace(p.Name)))
		expectPages(t, events, "http://"+site.Address+p.Name)
	})
	t.Run("any route", func(t *testing.T) {
		named, other := Unary.procedure(echo(Unary)), Procedure{Name: "/rpctest.v1.Another/Procedure", Handler: echo(Unary)}
		site := s.open(t, []footfall.Rule{{Route: named.Name, Event: "named"}, {Route: footfall.AnyRoute}}, named, other)
		expectWell(t, site.call(t, other, nil, "a"), "a")
		expectNames(t, site.events(), "post_rpctest_v1_another_procedure")
	})
}

func unknownMakesNoEvent(t *testing.T, s Subject) {
	p := Unary.procedure(echo(Unary))
	site := s.open(t, []footfall.Rule{{Route: footfall.AnyRoute}, {Route: p.Name}, {Route: footfall.NoRoute, Event: "missing"}}, p)
	for _, name := range []string{"/rpctest.v1.Suite/Secret", "/rpctest.v1.Secret/Unary"} {
		if a := site.call(t, Procedure{Name: name}, nil); a.Error.Code != Unimplemented {
			t.Errorf("%s is answered with %v", name, a.Error)
		}
	}
	expectNames(t, site.events())
}

// How many clients, and how many calls each makes.
const clients, callsEach = 64, 12

// forwarded are the headers of a proxy that tells the visitor's host.
func forwarded(host string) map[string]string {
	return map[string]string{"X-Forwarded-Proto": "https", "X-Forwarded-Host": host}
}

func clientsDoNotMix(t *testing.T, s Subject) {
	var rules []footfall.Rule
	var procedures []Procedure
	for _, kind := range Kinds {
		p := kind.procedure(func(ctx context.Context, s Stream) error {
			if err := footfall.Track(ctx, "tracked", footfall.P("n", s.Header("X-Number"))); err != nil {
				t.Error(err)
			}
			return echo(kind)(ctx, s)
		})
		procedures = append(procedures, p)
		rules = append(rules, footfall.Rule{Route: p.Name, Event: "answered"})
	}
	trustLoopback := func(c *footfall.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }
	site := s.openWith(t, trustLoopback, rules, procedures...)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() { callOften(t, site, procedures, c) })
	}
	all.Wait()
	seen := make(map[string]int)
	for _, e := range site.events() {
		key := e.Name + " on " + e.URL
		if n, ok := e.Props["n"].(string); ok {
			key += " of " + n
		}
		seen[key]++
	}
	for n := range clients * callsEach {
		page := fmt.Sprintf(" on https://n%d.example.com%s", n, procedures[n%len(procedures)].Name)
		for _, key := range []string{"answered" + page, fmt.Sprintf("tracked%s of %d", page, n)} {
			if seen[key] != 1 {
				t.Errorf("%s was counted %d times", key, seen[key])
			}
			delete(seen, key)
		}
	}
	if len(seen) > 0 {
		t.Errorf("counted besides: %v", seen)
	}
}

func callOften(t *testing.T, site *site, procedures []Procedure, number int) {
	client := site.dial(t)
	defer client.Close()
	for i := range callsEach {
		n := number*callsEach + i
		p, text := procedures[n%len(procedures)], fmt.Sprint(n)
		header := forwarded("n" + text + ".example.com")
		header["X-Number"] = text
		sent, received := p.Kind.conversation(text, "and", text)
		expectWell(t, call(t, client, p, header, sent...), received...)
	}
}

func trackWorksEverywhere(t *testing.T, s Subject) { each(t, s.trackWorks) }

func (s Subject) trackWorks(t *testing.T, kind Kind) {
	left, arrived := make(chan struct{}), make(chan struct{})
	var outlives sync.WaitGroup
	track := func(ctx context.Context, name string) {
		if err := footfall.Track(ctx, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := kind.procedure(func(ctx context.Context, s Stream) error {
		track(ctx, "in")
		outlives.Go(func() {
			<-left
			track(ctx, "beside")
		})
		return echo(kind)(ctx, s)
	})
	waiting := kind.procedure(func(ctx context.Context, s Stream) error {
		if _, err := s.Receive(); err != nil {
			t.Error(err)
		}
		close(arrived)
		await(t, ctx.Done(), "the handler's context to end")
		track(ctx, "gone")
		return ctx.Err()
	})
	waiting.Name += "Long"
	rules := []footfall.Rule{{Route: waiting.Name, Event: "canceled", Status: footfall.ClientError}}
	site := s.open(t, rules, p, waiting)
	sent, received := kind.conversation("a", "b")
	expectWell(t, site.call(t, p, nil, sent...), received...)
	site.leave(t, waiting, arrived)
	site.stop()
	close(left)
	outlives.Wait()
	events := site.Tracker.Events()
	expectNames(t, events, "in", "beside", "gone", "canceled")
	for _, e := range events {
		page := p.Name
		if e.Name == "gone" || e.Name == "canceled" {
			page = waiting.Name
		}
		if want := "http://" + site.Address + page; e.URL != want {
			t.Errorf("%s is on page %q, want %q", e.Name, e.URL, want)
		}
	}
}

// leave calls p and cancels the call when it has arrived.
func (s *site) leave(t *testing.T, p Procedure, arrived <-chan struct{}) {
	t.Helper()
	client := s.dial(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	answered := make(chan Answer, 1)
	go func() { answered <- client.Call(ctx, p, nil, "hello") }()
	await(t, arrived, "the call to arrive")
	cancel()
	if a := <-answered; a.Error.Code != Canceled {
		t.Errorf("the client that left was answered with %v", a)
	}
	client.Close()
}

func await(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Errorf("waited in vain for %s", what)
	}
}

func noTrackerChangesNothing(t *testing.T, s Subject) {
	disabled, err := footfall.New(footfall.Config{Disabled: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, tracker := range map[string]*footfall.Tracker{"nil": nil, "disabled": disabled} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, kind Kind) {
				p := kind.procedure(func(ctx context.Context, s Stream) error {
					if err := footfall.Track(ctx, "in"); err != nil {
						t.Error(err)
					}
					return echo(kind)(ctx, s)
				})
				site := s.serve(t, App{Tracker: tracker, Rules: []footfall.Rule{{Route: p.Name}}, Procedures: []Procedure{p}})
				sent, received := kind.conversation("a", "b")
				expectWell(t, site.call(t, p, nil, sent...), received...)
			})
		})
	}
}

func eventsNeedNoContextValue(t *testing.T, s Subject) {
	each(t, func(t *testing.T, kind Kind) {
		p := kind.procedure(func(ctx context.Context, s Stream) error {
			if err := footfall.Track(ctx, "in"); err != footfall.ErrNoTracker {
				t.Errorf("Track found a tracker, %v", err)
			}
			return echo(kind)(ctx, s)
		})
		site := s.openWith(t, func(c *footfall.Config) { c.NoContextValue = true }, []footfall.Rule{{Route: p.Name, Event: "seen"}}, p)
		expectWell(t, site.call(t, p, nil, "a"), "a")
		events := site.events()
		expectNames(t, events, "seen")
		expectPages(t, events, "http://"+site.Address+p.Name)
	})
}

func pageIsThePublicOne(t *testing.T, s Subject) {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	tests := []struct {
		name   string
		change func(*footfall.Config)
		want   func(address string) string
	}{
		{"PublicURL", func(c *footfall.Config) { c.PublicURL = "https://www.example.com/api" }, func(string) string { return "https://www.example.com/api" }},
		{"a trusted proxy", func(c *footfall.Config) { c.TrustedProxies = loopback }, func(string) string { return "https://shop.example.com" }},
		{"a proxy nobody trusts", func(*footfall.Config) {}, func(address string) string { return "http://" + address }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, kind Kind) {
				p := kind.procedure(tracking(t, kind))
				site := s.openWith(t, tt.change, []footfall.Rule{{Route: p.Name, Event: "seen"}}, p)
				expectWell(t, site.call(t, p, forwarded("shop.example.com"), "a"), "a")
				events := site.events()
				expectNames(t, events, "in", "seen")
				expectPages(t, events, tt.want(site.Address)+p.Name)
			})
		})
	}
	t.Run("TLS", func(t *testing.T) { each(t, s.pageIsHTTPS) })
}

// tracking is echo that also tracks an event.
func tracking(t *testing.T, kind Kind) func(context.Context, Stream) error {
	return func(ctx context.Context, s Stream) error {
		if err := footfall.Track(ctx, "in"); err != nil {
			t.Error(err)
		}
		return echo(kind)(ctx, s)
	}
}

func (s Subject) pageIsHTTPS(t *testing.T, kind Kind) {
	server, client := certified(t)
	p := kind.procedure(tracking(t, kind))
	tracker := newTracker(t, func(*footfall.Config) {})
	site := s.serve(t, App{Tracker: tracker.Tracker, Rules: []footfall.Rule{{Route: p.Name, Event: "seen"}}, Procedures: []Procedure{p}, TLS: server})
	site.Tracker, site.secure = tracker, client
	expectWell(t, site.call(t, p, nil, "a"), "a")
	events := site.events()
	expectNames(t, events, "in", "seen")
	expectPages(t, events, "https://"+site.Address+p.Name)
}

func skipAndRefererAreHeeded(t *testing.T, s Subject) {
	each(t, func(t *testing.T, kind Kind) {
		kept, skipped := kind.procedure(echo(kind)), kind.procedure(echo(kind))
		skipped.Name += "Skipped"
		skip := func(c *footfall.Config) {
			c.Skip = func(r *http.Request) bool {
				if r.Method != http.MethodPost || r.Host == "" {
					t.Errorf("Skip was asked of %s to host %q", r.Method, r.Host)
				}
				return r.URL.Path == skipped.Name
			}
		}
		rules := []footfall.Rule{
			{Route: footfall.AnyRoute, Event: "referred", Page: footfall.PageReferer},
			{Route: footfall.AnyRoute, Event: "plain"},
		}
		site := s.openWith(t, skip, rules, kept, skipped)
		for _, p := range []Procedure{kept, skipped} {
			expectWell(t, site.call(t, p, map[string]string{"Referer": "https://www.example.com/basket?token=1"}, "a"), "a")
		}
		events := site.events()
		expectNames(t, events, "plain", "referred")
		for _, e := range events {
			want := "http://" + site.Address + kept.Name
			if e.Name == "referred" {
				want = "https://www.example.com/basket"
			}
			if e.URL != want {
				t.Errorf("%s is on page %q, want %q", e.Name, e.URL, want)
			}
		}
	})
}

func siteAboveIsTheEvents(t *testing.T, s Subject) {
	for _, siteID := range []string{"site_above", ""} {
		t.Run("site "+siteID, func(t *testing.T) {
			each(t, func(t *testing.T, kind Kind) {
				p := kind.procedure(tracking(t, kind))
				tracker := newTracker(t, func(*footfall.Config) {})
				site := s.serve(t, App{
					Tracker: tracker.Tracker, Procedures: []Procedure{p},
					Rules: []footfall.Rule{{Route: p.Name, Event: "seen"}, {Route: p.Name, Event: "seen of site", SiteID: "site_rule"}},
					Above: func(ctx context.Context) context.Context { return footfall.WithSite(ctx, siteID) },
				})
				site.Tracker = tracker
				expectWell(t, site.call(t, p, nil, "a"), "a")
				events := site.events()
				expectNames(t, events, "in", "seen", "seen of site")
				for _, e := range events {
					want := cmp.Or(siteID, footfalltest.SiteID)
					if e.Name == "seen of site" {
						want = "site_rule"
					}
					if e.SiteID != want {
						t.Errorf("%s is of site %q, want %q", e.Name, e.SiteID, want)
					}
				}
			})
		})
	}
}
