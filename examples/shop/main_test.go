package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/outbox"
)

// program is a running shop.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   *bufio.Scanner
	lines []string
	errs  strings.Builder
}

// start builds and starts the shop. It is killed if the test takes a minute.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	return startBinary(t, time.Minute, build(t), args...)
}

func build(t *testing.T) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "shop")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(built))
	return binary
}

// startBinary starts a shop that was built, and kills it after a time.
func startBinary(t *testing.T, after time.Duration, binary string, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), after)
	t.Cleanup(cancel)
	p := &program{t: t, cmd: exec.CommandContext(ctx, binary, args...)}
	p.cmd.Stderr = &p.errs
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	p.out = bufio.NewScanner(out)
	return p
}

// line reads to the next line that matches and returns the group's match.
func (p *program) line(pattern string) string {
	p.t.Helper()
	wanted := regexp.MustCompile(pattern)
	for p.out.Scan() {
		p.lines = append(p.lines, p.out.Text())
		if found := wanted.FindStringSubmatch(p.out.Text()); found != nil {
			return found[len(found)-1]
		}
	}
	p.t.Fatalf("no line matches %s in:\n%s\n%s", pattern, strings.Join(p.lines, "\n"), p.errs.String())
	return ""
}

// end reads the rest, waits for a clean end and returns the last line.
func (p *program) end() string {
	p.t.Helper()
	for p.out.Scan() {
		p.lines = append(p.lines, p.out.Text())
	}
	require.NoError(p.t, p.cmd.Wait(), p.errs.String())
	return p.lines[len(p.lines)-1]
}

func TestSIGTERMDeliversPurchases(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM to send")
	}
	shop := start(t, "-listen", "127.0.0.1:0", "-collector", "127.0.0.1:0")
	address := shop.line(`^Murrowby is open at  (http://127\.0\.0\.1:\d+)$`)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar, Timeout: 10 * time.Second, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, step := range []struct {
		path string
		form url.Values
	}{{"/basket", url.Values{"product": {"cloud-mug"}, "quantity": {"2"}}}, {"/checkout", nil}} {
		answer, err := client.PostForm(address+step.path, step.form)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode)
	}
	require.NoError(t, shop.cmd.Process.Signal(syscall.SIGTERM)) // before the last events are sent

	assert.Equal(t, "delivered 5, lost 0", shop.end())
	printed := strings.Join(shop.lines, "\n")
	page := regexp.QuoteMeta(address)
	assert.Regexp(t, `(?m)^\d\d:\d\d:\d\d  order_placed        `+page+`/checkout +amount=4190 currency=EUR items=2$`, printed)
	assert.Regexp(t, `(?m)^\d\d:\d\d:\d\d  checkout_completed  `+page+`/checkout$`, printed)
	assert.Empty(t, shop.errs.String())
}

func TestTheShopClosesByItselfWithNothingLost(t *testing.T) {
	t.Parallel()
	shop := start(t, "-listen", "127.0.0.1:0", "-collector", "127.0.0.1:0", "-traffic", "3000", "-for", "1s")
	assert.Regexp(t, `^delivered [1-9]\d*, lost 0$`, shop.end())
	assert.Empty(t, shop.errs.String())
}

func TestAPortInUseIsOneClearLine(t *testing.T) {
	t.Parallel()
	taken, err := listen("127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	address := taken.Addr().String()
	for _, args := range [][]string{{"-listen", address}, {"-listen", "127.0.0.1:0", "-collector", address}} {
		err = run(t.Context(), args, io.Discard, io.Discard)
		assert.ErrorContains(t, err, "cannot listen on "+address)
		assert.ErrorContains(t, err, "-listen")
		assert.ErrorContains(t, err, "-collector")
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestWrongFlagsAreOneClearLine(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"unknown flag":      {"-port", "80"},
		"not a number":      {"-traffic", "many"},
		"negative traffic":  {"-traffic", "-1"},
		"too much traffic":  {"-traffic", "1000000"},
		"negative time":     {"-for", "-1s"},
		"something without": {"now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), args, io.Discard, io.Discard)
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestHelpIsNoError(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"-h"}, &out, io.Discard))
	assert.Contains(t, out.String(), "-traffic")
}

func TestArrivalsAreAligned(t *testing.T) {
	t.Parallel()
	a := newArrivals(io.Discard, "http://127.0.0.1:8080")
	at := time.Date(2026, 1, 2, 17, 4, 5, 0, time.Local)
	for _, c := range []struct {
		event store.Event
		want  string
	}{
		{
			store.Event{At: at, Name: "order_placed", URL: "http://127.0.0.1:8080/checkout", Props: []store.Prop{
				{Key: "items", Value: "2", Numeric: true}, {Key: "amount", Value: "1234567", Numeric: true}, {Key: "currency", Value: "EUR"},
			}},
			"17:04:05  order_placed        http://127.0.0.1:8080/checkout                    amount=1234567 currency=EUR items=2",
		},
		{
			store.Event{At: at, Name: "checkout_completed", URL: "http://127.0.0.1:8080/checkout"},
			"17:04:05  checkout_completed  http://127.0.0.1:8080/checkout",
		},
		{
			store.Event{At: at, URL: "http://127.0.0.1:8080/checkout"},
			"17:04:05  (pageview)          http://127.0.0.1:8080/checkout",
		},
		{
			store.Event{At: at, Name: "odd", URL: "http://127.0.0.1:8080/", Props: []store.Prop{{Key: "note", Value: "two words\x1b[31m"}, {Key: "none"}}},
			`17:04:05  odd                 http://127.0.0.1:8080/                            none="" note="two words\x1b[31m"`,
		},
	} {
		assert.Equal(t, c.want, a.line(c.event))
	}
}

func TestTheAccountOmitsZeroCounts(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "delivered 37, lost 0", accountOf(footfall.Stats{Tracked: 37, Delivered: 30}, outbox.Stats{Delivered: 7}))
	assert.Equal(t, "delivered 1, lost 2, rejected 3, refused 4, invalid 5",
		accountOf(footfall.Stats{Delivered: 1, Dropped: 2, Rejected: 1, Refused: 4, Invalid: 1}, outbox.Stats{Rejected: 2, Invalid: 4}))
}

func TestTheAddressOpensInABrowser(t *testing.T) {
	t.Parallel()
	everywhere, err := listen(":0")
	require.NoError(t, err)
	defer everywhere.Close()
	assert.Regexp(t, `^http://127\.0\.0\.1:[1-9]\d*$`, urlOf(everywhere.Addr()))
}
