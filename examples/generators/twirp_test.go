//go:build ci

package generators

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/generators/shoppb"
	"github.com/footfall-dev/footfall/footfalltest"
)

func askTwirp(handler http.Handler, method, order string) int {
	return ask(handler, "POST", "/twirp/shop.v1.Shop/"+method, order).Code
}

func TestAnyRouteHasOneNameForEachMethodOfTwirp(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	rules := []footfall.Rule{{Route: footfall.AnyRoute, TrimPrefix: shoppb.ShopPathPrefix, StatusProp: "status"}, {Route: footfall.NoRoute, Event: "missed"}}
	handler := serveTwirp(tracker.Tracker, twirpShop{}, rules...)
	for id, status := range map[string]int{"kettle": 200, "missing": 404, "broken": 500} {
		assert.Equal(t, status, askTwirp(handler, "GetProduct", `{"id":"`+id+`"}`))
	}
	assert.Equal(t, http.StatusOK, askTwirp(handler, "PlaceOrder", `{"id":"kettle"}`))
	assert.Equal(t, http.StatusBadRequest, askTwirp(handler, "PlaceOrder", "{"))
	assert.Equal(t, http.StatusNotFound, askTwirp(handler, "Nothing", "{}"))
	got := func(name, method string, status float64) footfalltest.Event {
		return event(name, "/twirp/shop.v1.Shop/"+method, map[string]any{"status": status})
	}
	assert.ElementsMatch(t, []footfalltest.Event{
		got("post_getproduct", "GetProduct", 200), got("post_getproduct", "GetProduct", 404), got("post_getproduct", "GetProduct", 500),
		got("post_placeorder", "PlaceOrder", 200), got("post_placeorder", "PlaceOrder", 400),
		event("missed", "/twirp/shop.v1.Shop/Nothing", nil),
	}, told(tracker))
}

func TestTrackInATwirpMethodHasThePage(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	handler := serveTwirp(tracker.Tracker, twirpShop{})
	askTwirp(handler, "GetProduct", `{"id":"kettle"}`)
	require.Equal(t, []string{"stock_checked"}, tracker.Names())
	assert.Equal(t, "https://shop.example.com/twirp/shop.v1.Shop/GetProduct", tracker.Events()[0].URL)
}

func TestRulesNameMethodsOfTwirp(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	rule := footfall.Rule{Route: "POST /twirp/shop.v1.Shop/PlaceOrder", Event: "order_placed", Status: footfall.Success}
	handler := serveTwirp(tracker.Tracker, twirpShop{}, rule)
	for _, id := range []string{"kettle", "missing", "broken"} {
		askTwirp(handler, "PlaceOrder", `{"id":"`+id+`"}`)
		askTwirp(handler, "GetProduct", `{"id":"`+id+`"}`)
	}
	assert.Equal(t, []footfalltest.Event{event("order_placed", "/twirp/shop.v1.Shop/PlaceOrder", nil)}, told(tracker))
}

func TestAnswersOfTwirpAreTheSame(t *testing.T) {
	t.Parallel()
	plain := shoppb.NewShopServer(twirpShop{})
	tracked := serveTwirp(footfalltest.New(t).Tracker, twirpShop{}, footfall.Rule{Route: footfall.AnyRoute})
	for _, path := range []string{"GetProduct", "PlaceOrder", "Nothing", "", "GetProduct/more"} {
		for _, order := range []string{`{"id":"kettle"}`, `{"id":"missing"}`, `{"id":"broken"}`, "{", ""} {
			for _, method := range []string{"POST", "GET", "HEAD"} {
				requireSame(t, plain, tracked, method, shoppb.ShopPathPrefix+path, order)
			}
		}
	}
}

// The reason for a route for each method: the prefix is one route.
func TestThePrefixOfTwirpIsOneRoute(t *testing.T) {
	t.Parallel()
	server := shoppb.NewShopServer(twirpShop{})
	mux := http.NewServeMux()
	mux.Handle(server.PathPrefix(), server)
	tracker := footfalltest.New(t)
	handler := tracker.Middleware(footfall.Rule{Route: footfall.AnyRoute})(mux)
	askTwirp(handler, "GetProduct", `{"id":"kettle"}`)
	askTwirp(handler, "PlaceOrder", `{"id":"kettle"}`)
	events := told(tracker)
	require.Len(t, events, 2)
	assert.Equal(t, events[0].Name, events[1].Name)
}
