package main

import (
	"bufio"
	"context"
	"io"
	"log"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/examples/internal/exampletest"
	"github.com/footfall-dev/footfall/footfalltest"
)

const loginPath = "/api/collections/users/auth-with-password"

func TestTheProgramPassesTheExampleTests(t *testing.T) {
	t.Parallel()
	exampletest.Run(t, exampletest.Program{
		Run: run, Rules: rules, Unknown: "GET /api/products/{slug}", Visit: visit, Buy: buy,
	})
}

// visit makes requests that make no event, a request that AnyRoute names, and a login.
func visit(t *testing.T, server string) []string {
	login(t, server, "wrong-horse", http.StatusBadRequest)
	login(t, server, "", http.StatusBadRequest)
	get(t, server+"/", http.StatusOK)
	get(t, server+"/_/", http.StatusOK)
	get(t, server+"/_/images/logo.svg", http.StatusOK)
	get(t, server+"/missing.png", http.StatusNotFound)
	get(t, server+"/api/health", http.StatusOK)
	return append(buy(t, server), "get_api_health "+server+"/api/health map[]")
}

func buy(t *testing.T, server string) []string {
	login(t, server, "correct-horse", http.StatusOK)
	return []string{"logged_in " + server + loginPath + " map[collection:users]"}
}

func login(t *testing.T, server, password string, status int) {
	t.Helper()
	form := url.Values{"identity": {"jane@example.com"}, "password": {password}}
	answer, err := http.PostForm(server+loginPath, form)
	requireStatus(t, status, answer, err)
}

func get(t *testing.T, address string, status int) {
	t.Helper()
	answer, err := http.Get(address)
	requireStatus(t, status, answer, err)
}

func requireStatus(t *testing.T, status int, answer *http.Response, err error) {
	t.Helper()
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, status, answer.StatusCode, answer.Request.URL)
}

// PocketBase ends the requests that are open, and their events are delivered.
func TestOpenStreamsCostNoEvents(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, "127.0.0.1:0", rules, writer)
		_ = writer.Close() // never fails
	}()
	out := bufio.NewScanner(reader)
	require.True(t, out.Scan())
	server := strings.TrimSuffix(strings.Fields(out.Text())[2], ":")
	answer, err := http.Get(server + "/api/realtime")
	require.NoError(t, err)
	defer answer.Body.Close()
	begun, err := bufio.NewReader(answer.Body).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, begun, "id:")
	stop()
	var lines []string
	for out.Scan() {
		lines = append(lines, out.Text())
	}
	require.NoError(t, <-ended)
	assert.Equal(t, []string{"get_api_realtime " + server + "/api/realtime map[]", "delivered 1, lost 0"}, lines)
}

// The reason for count: a middleware in PocketBase's router counts a failed login as a success.
func TestMiddlewareInTheRouterCountsAFailedLogin(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	addresses, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- serve(ctx, "127.0.0.1:0", log.New(io.Discard, "", 0), func(app core.App) {
			app.OnServe().BindFunc(func(e *core.ServeEvent) error {
				e.Router.BindFunc(apis.WrapStdMiddleware(tracker.Middleware(rules[:1]...)))
				addresses <- "http://" + e.Listener.Addr().String()
				return e.Next()
			})
		})
	}()
	var server string
	select {
	case server = <-addresses:
	case err := <-ended:
		require.NoError(t, err)
	}
	login(t, server, "wrong-horse", http.StatusBadRequest)
	stop()
	require.NoError(t, <-ended)
	names := make([]string, 0, 1)
	for _, e := range tracker.Events() {
		names = append(names, e.Name)
	}
	assert.Equal(t, []string{"logged_in"}, names)
}
