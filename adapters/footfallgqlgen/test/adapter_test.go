package footfallgqlgen_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestAnOperationMakesTheEventOfItsTypeAndName(t *testing.T) {
	t.Parallel()
	rules := []footfall.Rule{
		{Route: "query Products", Event: "products_viewed"},
		{Route: "  mutation   Checkout ", Event: "checkout_completed"},
		{Route: "query account", Event: "account_viewed"},
		{Route: "query Hidden", Event: footfall.NoEvent},
	}
	for query, want := range map[string]string{
		"query Products { products }":                           "products_viewed",
		"query Products { shown: products }":                    "products_viewed",
		"query products { products }":                           "query_products",
		"query Hidden { products }":                             "",
		"mutation Checkout { checkout }":                        "checkout_completed",
		"query Checkout { products }":                           "query_checkout",
		"{ products }":                                          "query_products",
		"{ account }":                                           "account_viewed",
		"query Other { account }":                               "query_other",
		"{ products: account }":                                 "account_viewed",
		"mutation { checkout }":                                 "mutation_checkout",
		"{ ...F } fragment F on Query { ... { account } }":      "account_viewed",
		"{ __typename ...F } fragment F on Query { account }":   "account_viewed",
		"{ __typename }":                                        "",
		"query Introspection { __schema { types { name } } }":   "",
		"query I { ...F } fragment F on Query { __typename }":   "",
		"query Products { __typename }":                         "products_viewed",
		"query Camel_Case9 { __typename account }":              "query_camel_case9",
		"query " + strings.Repeat("a", 100) + " { products }":   "query_" + strings.Repeat("a", 100),
		"query " + strings.Repeat("a", 101) + " { products }":   "query_other",
		"mutation " + strings.Repeat("a", 9000) + " {checkout}": "mutation_other",
	} {
		t.Run(query[:min(len(query), 60)], func(t *testing.T) {
			t.Parallel()
			h := serve(t, append(rules, everything))
			status, body := h.post(query)
			assert.Equal(t, http.StatusOK, status, body)
			if want == "" {
				h.expect()
			} else {
				h.expect(want)
				assert.Equal(t, h.url, h.Events()[0].URL)
			}
		})
	}
}

// Without a rule for AnyRoute, the others make no event.
func TestOnlyOperationsThatRulesNameMakeEvents(t *testing.T) {
	t.Parallel()
	h := serve(t, []footfall.Rule{{Route: "query Products", Event: "products_viewed"}})
	h.post("query Other { products }")
	h.post("mutation Products { checkout }")
	h.post("{ products }")
	h.post("query Products { products }")
	h.expect("products_viewed")
}

// The text of a request may have several operations. The one that runs counts.
func TestTheOperationThatRunsCounts(t *testing.T) {
	t.Parallel()
	h := serve(t, []footfall.Rule{everything})
	_, body := h.send("POST", "application/json", `{"query":"query A {products} query B {products}","operationName":"B"}`)
	assert.Contains(t, body, "tea")
	h.send("POST", "application/json", `{"query":"query A {products} query B {products}","operationName":"C"}`)
	h.expect("query_b")
}

func TestNamesThatClientsInventAreBounded(t *testing.T) {
	t.Parallel()
	h := serve(t, []footfall.Rule{everything, {Route: "query Known", Event: "known"}})
	const limit = 1000
	send := func(kind, name, fields string) {
		t.Helper()
		status, body := h.post(kind + " " + name + " " + fields)
		assert.Equal(t, http.StatusOK, status, body)
	}
	distinct := make(map[string]bool)
	for i := range limit {
		send("query", fmt.Sprintf("Invented%d", i), "{products}")
		distinct[fmt.Sprintf("query_invented%d", i)] = true
	}
	for _, name := range h.Names() {
		assert.True(t, distinct[name], name)
	}
	assert.Len(t, h.Names(), limit)
	send("query", "More", "{products}")
	send("mutation", "More", "{checkout}")
	send("query", "Invented7", "{products}") // again
	send("query", "Known", "{products}")     // has a rule
	send("query", "", "{account}")           // the schema's
	assert.Equal(t, []string{"query_other", "mutation_other", "query_invented7", "known", "query_account"}, h.Names()[limit:])
}

func TestErrorsDecideTheStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{
		"": 200, "none": 500, "panic": 500, "canceled": 499, "late": 504,
		"UNAUTHENTICATED": 401, "FORBIDDEN": 403, "NOT_FOUND": 404, "BAD_USER_INPUT": 400, "CONFLICT": 409,
		"RATE_LIMITED": 429, "INTERNAL_SERVER_ERROR": 500, "unauthenticated": 500, "422": 422, "200": 500, "600": 500,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			h := serve(t, classes("mutation Checkout"))
			text := "mutation Checkout { checkout }"
			if code != "" {
				text = fmt.Sprintf("mutation Checkout { checkout(code: %q) }", code)
			}
			status, body := h.post(text)
			assert.Equal(t, http.StatusOK, status)
			assert.Equal(t, code != "", strings.Contains(body, "errors"), body)
			h.expectStatus(want)
		})
	}
}

// expectStatus expects one event, of the class of a status.
func (h *host) expectStatus(want int) {
	h.Helper()
	name := "success"
	if want >= 500 {
		name = "server error"
	} else if want >= 400 {
		name = "client error"
	}
	h.expect(name)
	if len(h.Events()) == 1 {
		assert.EqualValues(h, want, h.Events()[0].Props["status"])
	}
}

// Data beside errors does not make an operation successful. The highest status counts, in any order.
func TestPartialDataIsAFailure(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]int{
		`products account(code: "NOT_FOUND")`:                        404,
		`a: account(code: "NOT_FOUND") b: account(code: "none")`:     500,
		`b: account(code: "none") a: account(code: "FORBIDDEN")`:     500,
		`b: account(code: "FORBIDDEN") a: account(code: "CONFLICT")`: 409,
	} {
		h := serve(t, classes("query Both"))
		_, body := h.post("query Both { " + fields + " }")
		assert.Contains(t, body, "data")
		h.expectStatus(want)
	}
}

// Operations that the server refuses before they run have a name. Other requests are none.
func TestRefusedOperations(t *testing.T) {
	t.Parallel()
	const none = 0
	for name, tc := range map[string]struct {
		body string
		want int
	}{
		"a wrong variable":        {`{"query":"query Q($c: String!) {account(code: $c)}"}`, 400},
		"too complex":             {`{"query":"query Q {` + aliases(21) + `}"}`, 400},
		"an unknown field":        {`{"query":"query Q {secret}"}`, none},
		"no GraphQL":              {`{"query":"query Q {"}`, none},
		"no JSON":                 {`{"query":`, none},
		"an array":                {`[{"query":"query Q {products}"}]`, none},
		"nothing":                 {`{}`, none},
		"null":                    {`null`, none},
		"an unknown operation":    {`{"query":"query Q {products}","operationName":"R"}`, none},
		"an unknown hash":         {`{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"00"}}}`, none},
		"a hash of another text":  {`{"query":"query Q {products}","extensions":{"persistedQuery":{"version":1,"sha256Hash":"00"}}}`, none},
		"a hash that is not text": {`{"extensions":{"persistedQuery":7}}`, none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, append(classes("query Q"), everything))
			h.send("POST", "application/json", tc.body)
			if tc.want == none {
				h.expect()
			} else {
				h.expectStatus(tc.want)
			}
		})
	}
}

// aliases returns n fields.
func aliases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d: products ", i)
	}
	return b.String()
}

func TestTextsThatAreNoOperationCountForNoRoute(t *testing.T) {
	t.Parallel()
	h := serve(t, []footfall.Rule{everything, {Route: footfall.NoRoute}})
	h.send("POST", "application/json", `{"query":"query Q {secret}"}`)
	h.send("POST", "application/json", `{"query":"{"}`)
	h.send("POST", "application/json", `{"query":"query Q {products}","operationName":"R"}`)
	h.send("POST", "application/json", `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"00"}}}`)
	h.send("POST", "application/json", `{`)
	h.expect("post_no_route", "post_no_route", "post_no_route")
}

func TestAPersistedQueryCountsWhenItRuns(t *testing.T) {
	t.Parallel()
	h := serve(t, []footfall.Rule{everything})
	_, body := h.send("POST", "application/json", apq(""))
	assert.Contains(t, body, "PersistedQueryNotFound")
	_, body = h.send("POST", "application/json", apq(persisted))
	assert.Contains(t, body, "tea")
	_, body = h.send("POST", "application/json", apq(""))
	assert.Contains(t, body, "tea")
	h.expect("query_persisted", "query_persisted")
}

func TestEachOperationOfABatchCounts(t *testing.T) {
	t.Parallel()
	h := serve(t, append(classes("mutation Checkout"), everything))
	_, body := h.send("POST", "application/batch+json", `[{"query":"query A {products}"},{"query":"query B {secret}"},
		{"query":"mutation Checkout {checkout(code: \"NOT_FOUND\")}"},{"query":"query C {products}"}]`)
	assert.Equal(t, 2, strings.Count(body, "tea"), body)
	h.expect("query_a", "client error", "query_c")
}

func TestResolversTrack(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string][]footfall.Rule{"with a rule": {everything}, "without": nil} {
		h := serve(t, rules)
		h.post(`query Q {account(code: "track")}`)
		assert.Equal(t, "tracked", h.Names()[0], name)
		assert.Equal(t, h.url, h.Events()[0].URL, name)
	}
}

func TestANilOrDisabledTrackerDoesNothing(t *testing.T) {
	t.Parallel()
	disabled := footfalltest.New(t, func(c *footfall.Config) { c.Disabled = true })
	for _, tracker := range []*footfall.Tracker{nil, disabled.Tracker} {
		h := serveWith(t, tracker, everything)
		_, body := h.post(`query Q {products account(code: "track")}`)
		assert.JSONEq(t, `{"data":{"products":["tea"],"account":null}}`, body)
	}
}
