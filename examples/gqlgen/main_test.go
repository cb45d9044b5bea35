package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/examples/internal/exampletest"
)

func TestTheServerPassesTheExampleTests(t *testing.T) {
	t.Parallel()
	exampletest.Run(t, exampletest.Program{Run: run, Rules: rules, Unknown: "POST /query", Refusal: "does not begin with query", Visit: visit, Buy: buy, Watch: watchOpen})
}

const addToCart = `mutation AddToCart($product: String!) { addToCart(product: $product) }`

func visit(t *testing.T, base string) []string {
	assert.Contains(t, ask(t, base, addToCart, ""), "which product?")
	assert.Contains(t, ask(t, base, "query Stock($product: String!) { stock(product: $product) }", "socks"), "3")
	assert.Contains(t, ask(t, base, "query Introspect { __schema { queryType { name } } }", ""), "Query")
	assert.Contains(t, ask(t, base, "query Secret { secret }", ""), "Cannot query field")
	events := append(buy(t, base), "post_query "+base+"/query map[]", "post_query "+base+"/query map[]", "post_query "+base+"/query map[]") // Stock, Introspect and Secret
	stream := open(t, base, "hats")
	text, err := io.ReadAll(stream)
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(text), `{"cartChanged":"hats"}`))
	return append(events, "watching "+base+"/query map[]", "cart_watched "+base+"/query map[]")
}

func buy(t *testing.T, base string) []string {
	assert.JSONEq(t, `{"data":{"addToCart":true}}`, ask(t, base, addToCart, "socks"))
	return []string{"stock_checked " + base + "/query map[left:3]", "added_to_cart https://shop.example.com/socks map[]"}
}

// watchOpen opens a stream that does not end.
func watchOpen(t *testing.T, base string) []string {
	stream := open(t, base, "")
	for lines := bufio.NewScanner(stream); lines.Scan() && !strings.Contains(lines.Text(), "cartChanged"); {
	}
	return []string{"watching " + base + "/query map[]", "cart_watched " + base + "/query map[]"}
}

// ask sends an operation as a page in a browser would.
func ask(t *testing.T, base, query, product string) string {
	t.Helper()
	answer := send(t, base, query, product, "application/json")
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return string(text)
}

// open subscribes to the cart.
func open(t *testing.T, base, product string) io.Reader {
	t.Helper()
	answer := send(t, base, "subscription CartChanged($product: String) { cartChanged(product: $product) }", product, "text/event-stream")
	t.Cleanup(func() { _ = answer.Body.Close() }) // the program may have ended by then
	return answer.Body
}

func send(t *testing.T, base, query, product, accept string) *http.Response {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": map[string]any{"product": product}})
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/query", strings.NewReader(string(body)))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", accept)
	r.Header.Set("Referer", "https://shop.example.com/socks?token=secret")
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	require.NoError(t, err)
	return answer
}
