package footfalltest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/event"
	"github.com/footfall-dev/footfall/footfalltest"
)

type orderPlaced struct {
	Amount   int64  `prop:"amount"`
	Currency string `prop:"currency"`
	Coupon   string `prop:"coupon,omitempty"`
}

type orderPaid struct{ Amount int }

var (
	placed  = event.Define[orderPlaced]("order_placed")
	_       = event.Define[struct{}]("rule_and_definition")
	paid    = event.Define[orderPaid]("order_paid")
	mistake = `footfalltest: the definition of "order_paid" has a mistake: Define[footfalltest_test.orderPaid].Amount: no tag`
)

// fakeTB is a test that collects what fails.
type fakeTB struct {
	testing.TB
	cleanups []func()
	errors   []string
	fatal    string
}

func (f *fakeTB) Helper()          {}
func (f *fakeTB) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }

func (f *fakeTB) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

func (f *fakeTB) Fatalf(format string, args ...any) { f.fatal = fmt.Sprintf(format, args...) }

// failures runs use as a test with a tracker and OnlyDefined. It returns what failed, except the mistake of order_paid, which
// fails each test.
func failures(t *testing.T, use func(*footfalltest.Tracker), options ...func(*footfall.Config)) []string {
	t.Helper()
	tb := &fakeTB{}
	tracker := footfalltest.New(tb, options...)
	use(tracker)
	assert.Empty(t, tb.errors, "nothing fails before the end")
	for i := range tb.cleanups {
		tb.cleanups[len(tb.cleanups)-1-i]()
	}
	assert.Empty(t, tb.fatal)
	if assert.NotEmpty(t, tb.errors) {
		assert.Contains(t, tb.errors[0], mistake)
		return append([]string(nil), tb.errors[1:]...)
	}
	return nil
}

func TestOnlyDefinedReportsEventsThatAreNotAsDefined(t *testing.T) {
	t.Parallel()
	p := func(props ...footfall.Prop) []footfall.Prop { return props }
	const defined = `footfalltest: "order_placed", defined with footfalltest_test.orderPlaced: `
	for name, row := range map[string]struct {
		event string
		props []footfall.Prop
		want  []string
	}{
		"as defined":         {"order_placed", placed.Props(orderPlaced{1, "EUR", "SUMMER"}), nil},
		"without the option": {"order_placed", placed.Props(orderPlaced{1, "EUR", ""}), nil},
		"an e-mail address":  {"order_placed", placed.Props(orderPlaced{4111111111111111, "ada@example.com", ""}), nil},
		"by hand":            {"order_placed", p(footfall.P("currency", "EUR"), footfall.P("amount", 1.5)), nil},
		"another name": {"order_plcaed", placed.Props(orderPlaced{}), []string{
			`footfalltest: neither a definition nor a rule has the name "order_plcaed" (2 events)`,
		}},
		"other props": {"order_placed", p(footfall.P("amuont", 1), footfall.P("currency", "EUR")), []string{
			defined + `the prop "amount" is missing (2 events)`, defined + `the prop "amuont" is not defined (2 events)`,
		}},
		"other types": {"order_placed", p(footfall.P("amount", "1"), footfall.P("currency", 1)), []string{
			defined + `the prop "amount" is a string (2 events)`, defined + `the prop "currency" is a number (2 events)`,
		}},
		"a wrong definition, by hand": {"order_paid", p(footfall.P("any", 1)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, failures(t, func(tracker *footfalltest.Tracker) {
				assert.NoError(t, tracker.Track(t.Context(), row.event, row.props...))
				tracker.OnlyDefined() // events before the call count
				assert.NoError(t, tracker.Track(t.Context(), row.event, row.props...))
			}))
		})
	}
}

func TestOnlyDefinedKnowsTheNamesOfRules(t *testing.T) {
	t.Parallel()
	got := failures(t, func(tracker *footfalltest.Tracker) {
		tracker.OnlyDefined()
		mux := http.NewServeMux()
		mux.HandleFunc("POST /checkout/{id}", func(_ http.ResponseWriter, r *http.Request) {
			_ = footfall.Track(r.Context(), "checkout_completed", footfall.P("twice", 1)) // the name of a rule that makes no event here
			_ = footfall.Track(r.Context(), "get_pricing")                                // a name that a rule could give
		})
		mux.HandleFunc("GET /about", func(http.ResponseWriter, *http.Request) {})
		mux.HandleFunc("GET /healthy", func(http.ResponseWriter, *http.Request) {})
		handler := tracker.Middleware(
			footfall.Rule{Route: "POST /checkout/{id}", Event: "checkout_completed", Status: footfall.Failure},
			footfall.Rule{Route: "POST /checkout/{id}", Event: "rule_and_definition", PathProps: []string{"id"}},
			footfall.Rule{Route: "GET /healthy", Event: footfall.NoEvent},
			footfall.Rule{Route: footfall.AnyRoute},
			footfall.Rule{Route: footfall.NoRoute},
		)(mux)
		for _, request := range []string{"POST /checkout/1", "GET /about", "GET /healthy", "GET /missing"} {
			method, path, _ := strings.Cut(request, " ")
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, nil))
		}
		assert.Equal(t, []string{"checkout_completed", "get_pricing", "rule_and_definition", "get_about", "get_no_route"}, tracker.Names())
	})
	assert.Equal(t, []string{`footfalltest: neither a definition nor a rule has the name "get_pricing" (1 events)`}, got)
}

func TestOnlyDefinedKnowsThePropsOfTheConfigAndThoseItIsGiven(t *testing.T) {
	t.Parallel()
	use := func(extra ...string) []string {
		return failures(t, func(tracker *footfalltest.Tracker) {
			tracker.OnlyDefined(extra...)
			ctx := footfall.WithProps(t.Context(), footfall.P("tenant", "acme"))
			assert.NoError(t, placed.TrackWith(ctx, tracker.Tracker, orderPlaced{1, "EUR", ""}))
		}, func(c *footfall.Config) { c.Props = []footfall.Prop{footfall.P("version", "v1")} })
	}
	assert.Empty(t, use("tenant"))
	assert.Equal(t, []string{`footfalltest: "order_placed", defined with footfalltest_test.orderPlaced: the prop "tenant" is not defined (1 events)`}, use())
}

// A server that New outlives tracks until the end.
func TestOnlyDefinedSeesEventsOfOtherCleanups(t *testing.T) {
	t.Parallel()
	tb := &fakeTB{}
	tracker := footfalltest.New(tb)
	tb.Cleanup(func() { _ = tracker.Track(context.Background(), "server_stopped") })
	tracker.OnlyDefined()
	for i := range tb.cleanups {
		tb.cleanups[len(tb.cleanups)-1-i]()
	}
	assert.Contains(t, strings.Join(tb.errors, "\n"), "server_stopped")
}

func TestWithoutOnlyDefinedNothingFails(t *testing.T) {
	t.Parallel()
	tb := &fakeTB{}
	tracker := footfalltest.New(tb)
	assert.NoError(t, tracker.Track(t.Context(), "whatever"))
	assert.Error(t, paid.TrackWith(t.Context(), tracker.Tracker, orderPaid{}))
	for _, cleanup := range tb.cleanups {
		cleanup()
	}
	assert.Empty(t, tb.errors)
	assert.Empty(t, tb.fatal)
}

// elsewhere is a Transport of the application.
type elsewhere struct{}

func (elsewhere) Deliver(ctx context.Context, src *footfall.Source) {
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
	}
}

func TestOnlyDefinedFailsIfItSeesNoEvents(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*footfall.Config){
		"disabled":          func(c *footfall.Config) { c.Disabled = true },
		"another transport": func(c *footfall.Config) { c.Transport = elsewhere{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tb := &fakeTB{}
			tracker := footfalltest.New(tb, change)
			tracker.OnlyDefined()
			assert.Contains(t, tb.fatal, "OnlyDefined sees no events")
			for _, cleanup := range tb.cleanups {
				cleanup()
			}
		})
	}
}
