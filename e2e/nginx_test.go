package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector"
	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// documentedLocation returns the lines for nginx in docs/service.md.
func documentedLocation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/service.md")
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^ +location / \{\n(?: {7,}.*\n)+ +\}\n`).FindString(string(text))
	require.Contains(t, lines, "X-Forwarded-For")
	return lines
}

// startNginx starts Debian's nginx in front of a service and returns its address. A location has
// 127.0.0.1:8090 in the place of the service.
func startNginx(t *testing.T, service, location string) string {
	t.Helper()
	binary, err := exec.LookPath("nginx")
	if err != nil {
		binary = "/usr/sbin/nginx" // not in the PATH of every user
	}
	if _, err := os.Stat(binary); err != nil && os.Getenv("CI") == "" {
		t.Skip("this test needs nginx: on Debian, apt-get install nginx-light")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := free.Addr().String()
	require.NoError(t, free.Close())
	dir := t.TempDir()
	var temporary strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&temporary, "%s_temp_path %s;\n", kind, filepath.Join(dir, kind))
	}
	config := fmt.Sprintf("daemon off; master_process off; pid %s; error_log stderr;\nevents {}\nhttp { access_log off;\n%sserver { listen %s;\n%s} }\n",
		filepath.Join(dir, "pid"), &temporary, addr, strings.ReplaceAll(location, "127.0.0.1:8090", strings.TrimPrefix(service, "http://")))
	file := filepath.Join(dir, "nginx.conf")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	cmd := exec.Command(binary, "-c", file, "-p", dir)
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // it was interrupted
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, patience, 10*time.Millisecond)
	return addr
}

// viewFrom sends a pageview from an address of this machine.
func viewFrom(t *testing.T, addr, from, domain string, header http.Header) {
	t.Helper()
	transport := &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext}
	defer transport.CloseIdleConnections()
	body := fmt.Sprintf(`{"s":%q,"u":"https://%s/"}`, domain, domain)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/e", strings.NewReader(body))
	require.NoError(t, err)
	r.Header = header.Clone()
	r.Header.Set("Content-Type", "text/plain")
	r.Header.Set("User-Agent", userAgent)
	answer, err := (&http.Client{Transport: transport}).Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusAccepted, answer.StatusCode)
}

// lockedLog is a log that several goroutines write.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestVisitorsBehindNginx(t *testing.T) {
	t.Parallel()
	documented := documentedLocation(t)
	without := regexp.MustCompile(`(?m)^.*X-Forwarded-For.*\n`).ReplaceAllString(documented, "")
	for _, c := range []struct {
		name, location string
		visitors       int64
		warnings       int
	}{
		{"with the documented lines two visitors are two, whatever they send", documented, 2, 0},
		{"without the header all visitors are one, and the log says so once", without, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log lockedLog
			s := startServiceWith(t, nil, func(cfg *collector.Config) {
				cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
				cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			})
			site := addSite(t, s.account, "", "shop.example.com")
			addr := startNginx(t, s.url, c.location)
			for _, from := range []string{"127.0.0.2", "127.0.0.3"} {
				viewFrom(t, addr, from, site.Domain, http.Header{})
				if c.warnings == 0 {
					for _, forged := range []string{"9.9.9.9", "127.0.0.1", "8.8.8.8, 127.0.0.1", "nonsense"} {
						viewFrom(t, addr, from, site.Domain, http.Header{"X-Forwarded-For": {forged}})
					}
				}
			}
			totals, err := storetest.Totals(t.Context(), s.store, store.Query{Site: site.ID, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)})
			require.NoError(t, err)
			assert.Equal(t, c.visitors, totals.Visitors)
			assert.Equal(t, c.warnings, strings.Count(log.String(), "sends no X-Forwarded-For"), log.String())
		})
	}
}

// failing is a store whose exports fail after a thousand events.
type failing struct{ store.Store }

func (failing) Export(_ context.Context, q store.Query, each func(store.Event) error) error {
	for range 1000 {
		if err := each(store.Event{Site: q.Site, URL: "https://shop.example.com/", Path: "/", At: time.Now()}); err != nil {
			return err
		}
	}
	return errors.New("the disk is gone")
}

// nginx speaks HTTP/1.0 to a service unless it is told otherwise, and the end of the connection is
// then the end of the answer.
func TestAnExportThatWasCutIsIncompleteBehindNginx(t *testing.T) {
	t.Parallel()
	var site account.Site
	s := startServiceWith(t, func(_ store.Store, a *account.Account) {
		owned(t, a)
		site = addSite(t, a, "", "shop.example.com")
	}, func(cfg *collector.Config) {
		cfg.Store, cfg.Logger = failing{cfg.Store}, slog.New(slog.DiscardHandler)
	})
	token, _, err := s.account.SignIn(t.Context(), password)
	require.NoError(t, err)
	addr := startNginx(t, s.url, documentedLocation(t))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/sites/"+site.ID+"/export.csv", nil)
	require.NoError(t, err)
	r.AddCookie(&http.Cookie{Name: "footfall_session", Value: token})
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Contains(t, string(body), "ended after 1,000 events")
}
