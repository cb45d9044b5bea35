package exampletest

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// Shop is an example that serves the shop over HTTP. Each of these examples uses another
// router.
type Shop struct {
	Run     func(ctx context.Context, address string, rules []footfall.Rule, out io.Writer) error
	Rules   []footfall.Rule
	Unknown string // see Program

	// Declines is set if the shop also shows a handler's error: a card that is declined.
	Declines bool
}

// RunShop is Run for such an example.
func RunShop(t *testing.T, s Shop) {
	t.Helper()
	Run(t, Program{Run: s.Run, Rules: s.Rules, Unknown: s.Unknown, Visit: s.visit, Buy: buy, Watch: watch})
}

func (s Shop) visit(t *testing.T, base string) []string {
	ask(t, "GET", base+"/products/7?utm_source=radio&token=secret", http.StatusOK)
	events := append(buy(t, base),
		"stock_checked "+base+"/products/7?utm_source=radio map[left:3]",
		"product_viewed "+base+"/products/7?utm_source=radio map[id:7]")
	if s.Declines {
		ask(t, "POST", base+"/api/checkout?card=declined", http.StatusPaymentRequired)
		events = append(events, "checkout_failed "+base+"/api/checkout map[]")
	}
	ask(t, "GET", base+"/secret/path", http.StatusNotFound)
	return events
}

func buy(t *testing.T, base string) []string {
	ask(t, "POST", base+"/api/checkout", http.StatusCreated)
	return []string{"checkout_completed " + base + "/api/checkout map[]"}
}

// watch opens a stream of events on a new connection.
func watch(t *testing.T, base string) []string {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/stock", nil)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	stream, err := client.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = stream.Body.Close() }) // the program has ended by then
	line, err := bufio.NewReader(stream.Body).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "data: 3 left\n", line)
	return []string{"stock_watched " + base + "/stock map[]"}
}

// ask makes one request on a new connection.
func ask(t *testing.T, method, url string, status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, status, answer.StatusCode)
}
