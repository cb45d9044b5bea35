//go:build ci

package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

// A stranger has no checkout: the modules come from a proxy, and each program is in an empty
// folder.
func TestAStrangerUsesTheModules(t *testing.T) {
	t.Parallel()
	r, err := openRepo(filepath.Join("..", ".."))
	require.NoError(t, err)
	s := newStranger(t, r)
	for _, p := range programs(t, r) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s.use(t, p)
		})
	}
	t.Run("command", func(t *testing.T) {
		t.Parallel()
		s.install(t, r.modules[0].path()+"/collector", "/cmd/footfall-collector")
		s.install(t, r.modules[0].path()+"/cmd/footfall", "")
	})
}

// stranger runs commands in an environment where version of the modules is released.
type stranger struct {
	version string
	env     []string
}

func newStranger(t *testing.T, r *repo) *stranger {
	t.Helper()
	s := &stranger{version: r.required()}
	require.NoError(t, checkVersion(s.version))
	dir := t.TempDir()
	proxy := folder(filepath.Join(dir, "proxy"))
	require.NoError(t, proxy.addTree(t.Context(), r, s.version))
	list, stop, err := proxy.proxies(t.Context(), r.modules[0].path())
	require.NoError(t, err)
	t.Cleanup(stop)
	s.env = append(os.Environ(),
		"GOPROXY="+list,
		"GOMODCACHE="+filepath.Join(dir, "modules"),
		"GOWORK=off", "GOSUMDB=off", "GOPRIVATE=", "GONOPROXY=", "GOTOOLCHAIN=local",
		// Without paths, the build cache has the packages of earlier runs.
		"GOFLAGS=-modcacherw -trimpath -ldflags=-w")
	return s
}

// run runs a command of the stranger in dir and returns what it prints.
func (s *stranger) run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", strings.Join(cmd.Args, " "), out)
	return string(out)
}

// use does what a README says: it gets the module, and builds, tests and runs the program.
func (s *stranger) use(t *testing.T, p program) {
	dir := t.TempDir()
	address := freeAddress(t)
	main := strings.ReplaceAll(p.text, "127.0.0.1:8080", address)
	main = strings.ReplaceAll(main, "/var/lib/shop/events", filepath.ToSlash(t.TempDir()))
	main = strings.ReplaceAll(main, `"shop.db"`, strconv.Quote(filepath.ToSlash(filepath.Join(t.TempDir(), "shop.db"))))
	s.run(t, dir, "go", "mod", "init", "example.com/shop")
	s.run(t, dir, "go", strings.Fields(p.get)[1:]...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(main), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main_test.go"), []byte(shopTest), 0o600))
	s.run(t, dir, "go", "mod", "tidy")
	s.run(t, dir, "go", "test", "-vet=off", ".")
	s.run(t, dir, "go", "build", "-o", "shop.exe", ".")
	s.run(t, dir, "go", "mod", "tidy", "-diff")
	assert.Contains(t, s.run(t, dir, "go", "list", "-m", p.module), p.module+" "+s.version)
	s.serve(t, filepath.Join(dir, "shop.exe"), address, p)
}

// serve runs a program, sends a request if it is a server, and waits for the event.
func (s *stranger) serve(t *testing.T, binary, address string, p program) {
	t.Helper()
	api := footfalltest.NewAPI(t)
	came := make(chan footfalltest.Event, 10)
	api.OnEvent(func(e footfalltest.Event) { came <- e })
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append(os.Environ(),
		"FOOTFALL_BASE_URL="+api.URL, "FOOTFALL_API_KEY="+footfalltest.Key, "FOOTFALL_SITE_ID="+footfalltest.SiteID)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	if p.ask != nil {
		p.ask(t, ctx, address)
	}
	select {
	case <-came:
	case <-ctx.Done():
	}
	requests := api.Requests()
	stop()
	_ = cmd.Wait() // a server is killed
	require.NotEmpty(t, requests, "%s", said.String())
	assert.Equal(t, "footfall-go/"+s.version, requests[0].Header.Get("User-Agent"))
}

// install installs the command of a package of a module, and expects the version in its build
// information.
func (s *stranger) install(t *testing.T, module, pkg string) {
	t.Helper()
	bin := t.TempDir()
	here := *s
	here.env = append(s.env[:len(s.env):len(s.env)], "GOBIN="+bin)
	here.run(t, t.TempDir(), "go", "install", module+pkg+"@"+s.version)
	installed, err := filepath.Glob(filepath.Join(bin, "*"))
	require.NoError(t, err)
	require.Len(t, installed, 1)
	assert.Regexp(t, `\smod\s+`+regexp.QuoteMeta(module)+`\s+`+regexp.QuoteMeta(s.version)+`\s`, here.run(t, bin, "go", "version", "-m", installed[0]))
	here.run(t, bin, installed[0], "-help")
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// askHTTP sends a request when the server at address listens. Over HTTP/2 without TLS, which
// gRPC requires, the body is an empty message.
func askHTTP(method, path, contentType, body string, http2 bool) func(*testing.T, context.Context, string) {
	return func(t *testing.T, ctx context.Context, address string) {
		t.Helper()
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetHTTP1(!http2)
		transport.Protocols.SetUnencryptedHTTP2(http2)
		defer transport.CloseIdleConnections()
		require.Eventually(t, func() bool {
			r, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, strings.NewReader(body))
			if err != nil {
				return false
			}
			r.Header.Set("Content-Type", contentType)
			response, err := transport.RoundTrip(r)
			if err != nil {
				return false
			}
			_, err = new(bytes.Buffer).ReadFrom(response.Body)
			return err == nil && response.Body.Close() == nil && response.StatusCode < 300
		}, time.Minute, 20*time.Millisecond)
	}
}
