// Package adaptertest runs the conformance suite of footfalltest for this
// project's adapters. It supplies the WebSocket library that the suite needs, because
// footfalltest imports only the standard library.
package adaptertest

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/footfall-dev/footfall/footfalltest"
)

// Run is footfalltest.RunMiddleware with a real WebSocket library. The adapter's
// README.md must contain the reason of each impossible row word for word.
func Run(t *testing.T, s footfalltest.Subject) {
	t.Helper()
	for row, why := range s.Impossible {
		readme, err := os.ReadFile("README.md")
		if err != nil || !strings.Contains(unwrapped(readme), why) {
			t.Errorf("README.md does not say of %q: %s (%v)", row, why, err)
		}
	}
	s.WebSocket = footfalltest.WebSocket{Echo: http.HandlerFunc(echo), Send: Send}
	footfalltest.RunMiddleware(t, s)
}

// unwrapped joins the lines of a text.
func unwrapped(text []byte) string { return strings.Join(strings.Fields(string(text)), " ") }

// Replace returns a Subject.Pattern for routers that write a wildcard {name} as before
// and the name, such as :name, and {rest...} as rest.
func Replace(before, rest string) func(pattern string) string {
	return strings.NewReplacer("{rest...}", rest, "{", before, "}", "").Replace
}

// ReplaceRest is Replace for routers that write a wildcard {name} as net/http does.
func ReplaceRest(rest string) func(pattern string) string {
	return strings.NewReplacer("{rest...}", rest).Replace
}

// echo sends one message back.
func echo(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // answered by Accept
	}
	defer conn.CloseNow()
	kind, text, err := conn.Read(r.Context())
	if err != nil {
		return // the client sees it
	}
	if err := conn.Write(r.Context(), kind, text); err == nil {
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}
}

// Send sends a message by WebSocket and returns the answer.
func Send(ctx context.Context, url, text string) (string, error) {
	conn, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return "", err
	}
	defer conn.CloseNow()
	if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		return "", err
	}
	_, answer, err := conn.Read(ctx)
	return string(answer), err
}
