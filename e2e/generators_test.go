//go:build ci

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

// generator makes a Go client of a description of an API.
type generator struct {
	command []string // with the arguments of go run
	program string   // main.go, which uses the client in the folder api
}

var generators = map[string]generator{
	"ogen": {
		[]string{"github.com/ogen-go/ogen/cmd/ogen@v1.24.0", "-target", "api", "-package", "api", "openapi.yaml"},
		`package main

import (
	"context"
	"fmt"
	"os"

	"client/api"
)

type key struct{}

func (key) Key(context.Context, api.OperationName) (api.Key, error) {
	return api.Key{Token: os.Getenv("API_KEY")}, nil
}

func main() {
	client, err := api.NewClient(os.Getenv("BASE_URL"), key{})
	if err != nil {
		panic(err)
	}
	answer, err := client.SendEvent(context.Background(), &api.Event{
		SiteID: os.Getenv("SITE_ID"), Name: "generated", URL: "https://shop.example.com/",
		Props: api.NewOptEventProps(api.EventProps{"plan": api.NewStringEventPropsItem("pro"), "amount": api.NewFloat64EventPropsItem(16777217.5)}),
	}, api.SendEventParams{IdempotencyKey: api.NewOptString("one")})
	accepted, ok := answer.(*api.Accepted)
	fmt.Println(err, ok && accepted.Accepted)
}
`,
	},
	"oapi-codegen": {
		[]string{"github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2", "-generate", "types,client", "-package", "api", "-o", "api/api.go", "openapi.yaml"},
		`package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"client/api"
)

func main() {
	client, err := api.NewClientWithResponses(os.Getenv("BASE_URL"))
	if err != nil {
		panic(err)
	}
	var plan, amount api.Event_Props_AdditionalProperties
	if plan.FromEventProps0("pro") != nil || amount.FromEventProps1(16777217.5) != nil {
		panic("props")
	}
	key := "one"
	answer, err := client.SendEventWithResponse(context.Background(), &api.SendEventParams{IdempotencyKey: &key}, api.Event{
		SiteId: os.Getenv("SITE_ID"), Name: "generated", Url: "https://shop.example.com/",
		Props: &map[string]api.Event_Props_AdditionalProperties{"plan": plan, "amount": amount},
	}, func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
		return nil
	})
	fmt.Println(err, answer.JSON202 != nil && bool(answer.JSON202.Accepted))
}
`,
	},
}

// TestGeneratedClientsSendAnEvent makes clients with generators, which needs a module proxy.
func TestGeneratedClientsSendAnEvent(t *testing.T) {
	t.Parallel()
	s, key, site := startKeyed(t)
	for name, g := range generators {
		t.Run(name, func(t *testing.T) {
			client := g.build(t)
			api := footfalltest.NewAPI(t)
			assert.Equal(t, "<nil> true\n", sendWith(t, client, api.URL, footfalltest.Key, footfalltest.SiteID))
			require.Len(t, api.Events(), 1)
			got := api.Events()[0]
			assert.Equal(t, "generated", got.Name)
			assert.Equal(t, map[string]any{"plan": "pro", "amount": 16777217.5}, got.Props)
			assert.Equal(t, "<nil> true\n", sendWith(t, client, s.url, key, site.ID))
		})
	}
}

// build makes the client and builds the program.
func (g generator) build(t *testing.T) (program string) {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile("../collector/api/openapi.yaml")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "api"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "openapi.yaml"), text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(g.program), 0o600))
	for _, args := range [][]string{
		{"mod", "init", "client"}, append([]string{"run"}, g.command...), {"mod", "tidy"}, {"build", "-o", "client.exe", "."},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %v: %s", args, out)
	}
	return filepath.Join(dir, "client.exe")
}

// sendWith runs the program, and returns what it prints.
func sendWith(t *testing.T, program, url, key, site string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = []string{"BASE_URL=" + url, "API_KEY=" + key, "SITE_ID=" + site}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}
