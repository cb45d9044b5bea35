//go:build ci

package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// program is the program of a README, and the command before it that gets the module.
type program struct {
	name   string // the folder of the module
	module string
	get    string
	text   string
	ask    func(t *testing.T, ctx context.Context, address string) // nil if it is no server
}

// programs returns the programs of all public modules, except adaptertest, which only tests
// import, those that are commands, and stream, which needs a server of NATS.
func programs(t *testing.T, r *repo) (all []program) {
	t.Helper()
	for _, m := range r.public() {
		if name := path.Base(m.dir); name != "adaptertest" && name != "stream" && !r.isCommand(m) {
			all = append(all, programOf(t, r, m))
		}
	}
	return all
}

// isCommand reports whether users install m rather than import it.
func (r *repo) isCommand(m mod) bool { return m.dir != "." && r.hasCommand(m) }

var (
	goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")
	whole   = regexp.MustCompile("(?s)```go\n([^`]*?package main\n.*?)```")
	getLine = regexp.MustCompile(`(?m)^    (go get \S+)$`)
)

// programOf reads the README of m, or the example that it names. The READMEs of lean and spool have only the statement that
// makes the tracker, which replaces footfall.New in the program of the root.
func programOf(t *testing.T, r *repo, m mod) program {
	t.Helper()
	p := program{name: path.Base(m.dir), module: m.path(), get: "go get " + m.path()}
	if m.dir == "." {
		p.name = "root"
	}
	readme := r.read(t, m.dir, "README.md")
	if said := getLine.FindStringSubmatch(readme); said != nil {
		p.get = said[1]
	}
	require.Contains(t, p.get, m.path())
	switch p.name {
	case "lean", "spool":
		p.text = instead(t, block(t, whole, r.read(t, ".", "README.md")), block(t, goBlock, readme), m.path())
		return p
	case "outbox":
		p.text, p.ask = r.read(t, "examples/outbox", "main.go"), askHTTP("POST", "/orders/7", "", "", false)
		return p
	case "footfallgrpc":
		p.ask = askHTTP("POST", "/grpc.health.v1.Health/Check", "application/grpc", "\x00\x00\x00\x00\x00", true)
	case "footfallconnect":
		p.ask = askHTTP("POST", "/shop.v1.CartService/Add", "application/json", `"mug"`, false)
	case "footfallgqlgen":
		p.ask = askHTTP("POST", "/query", "application/json", `{"query":"query Products { products }"}`, false)
	case "root", "otelfootfall": // send an event and end
	default:
		p.ask = askHTTP("GET", "/products/7", "", "", false)
	}
	p.text = block(t, whole, readme)
	return p
}

// block returns the first block of Go in a README that matches.
func block(t *testing.T, pattern *regexp.Regexp, readme string) string {
	t.Helper()
	found := pattern.FindStringSubmatch(readme)
	require.NotNil(t, found, "no block matches %s in:\n%s", pattern, readme)
	return found[1]
}

func (r *repo) read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(dir), name))
	require.NoError(t, err)
	return string(text)
}

// instead returns a program with another statement that makes the tracker, and with the
// import of its package.
func instead(t *testing.T, text, statement, imported string) string {
	t.Helper()
	const usual, root = "tracker, err := footfall.New(footfall.ConfigFromEnv())", "\t\"github.com/footfall-dev/footfall\"\n"
	require.Contains(t, text, usual)
	require.Contains(t, text, root)
	statement = strings.NewReplacer("base", `os.Getenv("FOOTFALL_BASE_URL")`, "key", `os.Getenv("FOOTFALL_API_KEY")`,
		"site_1", "site_test").Replace(strings.TrimSpace(statement))
	if strings.Contains(statement, "os.") && !strings.Contains(text, "\t\"os\"\n") {
		text = strings.Replace(text, "import (\n", "import (\n\t\"os\"\n", 1)
	}
	text = strings.Replace(text, root, root+fmt.Sprintf("\t%q\n", imported), 1)
	return strings.Replace(text, usual, statement, 1)
}

// shopTest is the stranger's own test of what is tracked.
const shopTest = `package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestCheckoutIsTracked(t *testing.T) {
	tracker := footfalltest.New(t)
	shop := http.NewServeMux()
	shop.HandleFunc("POST /checkout", func(http.ResponseWriter, *http.Request) {})
	handler := tracker.Middleware(footfall.Rule{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Success})(shop)
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/checkout", nil))
	if names := tracker.Names(); !slices.Equal(names, []string{"checkout_completed"}) {
		t.Errorf("tracked %q", names)
	}
}
`
