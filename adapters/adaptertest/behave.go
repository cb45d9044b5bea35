package adaptertest

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// behaviours are the tests that every adapter passes besides the rows of footfalltest. They
// need the framework's own middlewares and handlers.
var behaviours = []struct {
	name string
	run  func(*testing.T, Framework)
}{
	{"below the recovery a panic is recorded and passed on", recoveryMayStandAbove},
	{"above the recovery a panic is recorded with the status of its answer", recoveryMayStandBelow},
	{"a handler that ends its goroutine is aborted", goexitIsAborted},
	{"a refusal by a middleware below is recorded", refusalIsRecorded},
	{"a redirect to another spelling makes no event", otherSpellingIsNoVisit},
	{"middlewares above see the same request as without the adapter", requestAboveIsAsWithout},
	{"wildcards become props", wildcardsBecomeProps},
	{"Track knows tracker and page", trackKnowsTrackerAndPage},
	{"Track knows the route", trackKnowsTheRoute},
	{"Track without the middleware returns ErrNoTracker", trackWithoutMiddlewareSaysSo},
	{"rules apply without a context value", rulesNeedNoContextValue},
	{"the request is the original without a context value", requestIsTheOriginal},
	{"a tracker that does nothing changes nothing", noTrackerChangesNothing},
	{"Config.Skip and the rules see the request", skipSeesTheRequest},
	{"prefetches and referers are seen without Config.Skip", headersAreSeenWithoutSkip},
	{"a page over TLS is https", pageOverTLSIsHTTPS},
	{"forwarded headers count from trusted proxies only", onlyTrustedProxiesCount},
	{"a wrong rule is logged and left out", wrongRuleIsLogged},
}

// Behave runs the behaviours for an adapter, each against a server on a socket, except the
// one about a handler that ends its goroutine.
func Behave(t *testing.T, f Framework) {
	t.Helper()
	if f.Pattern == nil {
		f.Pattern = func(pattern string) string { return pattern }
	}
	known := make(map[string]bool)
	for _, b := range behaviours {
		known[b.name] = true
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			if why, ok := f.Impossible[b.name]; ok {
				t.Logf("IMPOSSIBLE: %s", why)
				return
			}
			b.run(t, f)
		})
	}
	for name := range f.Impossible {
		assert.True(t, known[name], "there is no row %q", name)
	}
}

// patience bounds each wait.
const patience = 15 * time.Second

var errBoom = errors.New("boom")

// Classes returns a rule for each class of status. The event is named after the class.
func Classes(route string) []footfall.Rule {
	return []footfall.Rule{
		{Route: route, Event: "success", Status: footfall.Success},
		{Route: route, Event: "client error", Status: footfall.ClientError},
		{Route: route, Event: "server error", Status: footfall.ServerError},
		{Route: route, Event: "aborted", Status: footfall.Aborted},
	}
}

// route returns the route of a rule for a pattern of net/http.
func (f Framework) route(method, pattern string) string { return method + " " + f.Pattern(pattern) }

func nothing(c Context) error { return c.Answer(http.StatusOK, "") }

// Open serves app until the test ends, and returns its address. It is https if secure
// is not nil.
func Open(t *testing.T, serve func(net.Listener) func() error, secure *tls.Config) (base string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	base = "http://" + l.Addr().String()
	if secure != nil {
		base, l = "https"+strings.TrimPrefix(base, "http"), tls.NewListener(l, secure)
	}
	end := serve(l)
	stop = sync.OnceFunc(func() { assert.NoError(t, end()) })
	t.Cleanup(stop)
	return base, stop
}

// Request is a request that Ask sends.
type Request struct {
	Method, Path string
	Host         string   // the server's address if empty
	Header       []string // names and values
	Client       *http.Client
}

// Ask sends a request and returns status and body, or 0 if the connection broke.
func Ask(t *testing.T, base string, r Request) (status int, body string) {
	t.Helper()
	sent, err := http.NewRequestWithContext(t.Context(), r.Method, base+r.Path, nil)
	require.NoError(t, err)
	sent.Host = r.Host
	for pair := range slices.Chunk(r.Header, 2) {
		sent.Header.Add(pair[0], pair[1])
	}
	own := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if r.Client != nil {
		own = *r.Client
	}
	own.Timeout = patience
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := own.Do(sent)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

// get is Ask for a path.
func get(t *testing.T, base, path string) int {
	t.Helper()
	status, _ := Ask(t, base, Request{Method: "GET", Path: path})
	return status
}

// open serves app.
func open(t *testing.T, app App) (base string, stop func()) {
	t.Helper()
	return Open(t, app.Serve, nil)
}

// quiet is a tracker that must know the page of every event.
func quiet(t *testing.T, change ...func(*footfall.Config)) *footfalltest.Tracker {
	t.Helper()
	return footfalltest.New(t, append(change, func(c *footfall.Config) { c.DefaultURL = "" })...)
}
