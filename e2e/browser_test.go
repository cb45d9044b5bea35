package e2e

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// userAgent is Chromium's user agent without the word Headless, which the collector takes
// for a bot.
const userAgent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"

// chromium is the process that all tests share, because starting one takes longer than most
// tests. Each test has its own browser context, with its own cookies.
var chromium struct {
	sync.Once
	ctx  context.Context
	stop []context.CancelFunc
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range chromium.stop {
		stop()
	}
	os.Exit(code)
}

func startChromium() {
	binary, err := exec.LookPath("chromium")
	if err != nil {
		chromium.err = err
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(binary), chromedp.NoSandbox, chromedp.UserAgent(userAgent))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	chromium.ctx, chromium.stop = ctx, []context.CancelFunc{cancel, stop}
	chromium.err = chromedp.Do(ctx) // starts it
}

// browser is a tab with its own browser context. An action that fails also fails the test.
type browser struct {
	t       *testing.T
	ctx     context.Context
	console *console
}

// in is the same browser in a subtest.
func (b *browser) in(t *testing.T) *browser { return &browser{t, b.ctx, b.console} }

// console keeps the errors and warnings of a tab, such as violations of the page's policy.
type console struct {
	mu       sync.Mutex
	problems []string
	expected []string
}

// openBrowser opens a tab that closes with the test. An error in its console fails the
// test: see complaints.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil && os.Getenv("CI") == "" {
		t.Skip("this test needs Chromium: on Debian, apt-get install chromium")
	}
	chromium.Do(startChromium)
	require.NoError(t, chromium.err)
	tab, closeTab := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	b := &browser{t, tab, &console{}}
	b.console.watch(tab)
	t.Cleanup(func() {
		assert.Empty(t, b.complaints(), "of the console")
		closeTab()
	})
	return b
}

func (c *console) watch(ctx context.Context) {
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return // the tab is closed
			}
			if m.IsException() || m.Type == "error" || m.Type == "warning" || m.Type == "assert" {
				c.mu.Lock()
				c.problems = append(c.problems, m.String())
				c.mu.Unlock()
			}
		}
	}()
}

// expect ignores a complaint with the text until the next call of complaints.
func (c *console) expect(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = append(c.expected, text)
}

// complaints returns the errors and warnings since its last call.
func (b *browser) complaints() (all []string) {
	b.console.mu.Lock()
	defer b.console.mu.Unlock()
	for _, problem := range b.console.problems {
		if !slices.ContainsFunc(b.console.expected, func(text string) bool { return strings.Contains(problem, text) }) {
			all = append(all, problem)
		}
	}
	b.console.problems, b.console.expected = nil, nil
	return all
}

// patience bounds one action, which takes milliseconds on a machine that is not busy.
const patience = 30 * time.Second

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	run(b, chromedp.Steps(steps...))
}

// run runs an action that has a result.
func run[T any](b *browser, a chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	result, err := chromedp.Run(ctx, a)
	require.NoError(b.t, err)
	return result
}

// eval returns the value of the expression in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	return run(b, chromedp.Evaluate[T](expression))
}

func (b *browser) open(address string) {
	b.t.Helper()
	b.do(chromedp.Navigate(address))
}

// withoutScripts turns JavaScript off.
func (b *browser) withoutScripts() *browser {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(b.t, err)
	return b
}

// look sets the size of the window and the preferred colour scheme.
func (b *browser) look(width, height int64, scheme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	require.NoError(b.t, err)
	b.do(chromedp.EmulateViewport(width, height))
}

// press clicks the button or link that has the text, and waits for the page it leads to.
func (b *browser) press(text string) {
	b.t.Helper()
	b.click(`//*[self::button or self::a][normalize-space()=` + strconv.Quote(text) + `]`)
}

// click clicks the first match of the selector, CSS or XPath, and waits for the page it
// leads to.
func (b *browser) click(selector string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	_, err := chromedp.RunResponse(ctx, chromedp.Click(selector))
	require.NoError(b.t, err, selector)
}

// unfold opens the details whose summary has the text.
func (b *browser) unfold(text string) {
	b.t.Helper()
	b.do(chromedp.Click(`//summary[normalize-space()=` + strconv.Quote(text) + `]`))
}

func named(name string) chromedp.CSS { return chromedp.CSS(`[name="` + name + `"]`) }

// fill types into the field that has the name.
func (b *browser) fill(name, text string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(named(name), text))
}

// refill replaces the text of the field that has the name.
func (b *browser) refill(name, text string) {
	b.t.Helper()
	b.do(chromedp.Clear(named(name)))
	b.fill(name, text)
}

// choose picks the option that has the value, in the list that has the name.
func (b *browser) choose(name, value string) {
	b.t.Helper()
	b.do(chromedp.SetValue(named(name), value))
}

// text returns the text of the page.
func (b *browser) text() string {
	b.t.Helper()
	return rowMenu.ReplaceAllString(run(b, chromedp.Text(chromedp.CSS("body"))), "")
}

// rowMenu is the name of the menu of a table's row, which only screen readers read.
var rowMenu = regexp.MustCompile(`(?m)^Filter by .*\n?`)

// shows reloads the page until its text matches all patterns. It fails after a second, the
// time within which an event must be shown.
func (b *browser) shows(patterns ...string) {
	b.t.Helper()
	for deadline := time.Now().Add(time.Second); ; {
		text := b.text()
		if matchesAll(text, patterns) {
			return
		}
		if time.Now().After(deadline) {
			for _, p := range patterns {
				assert.Regexp(b.t, p, text)
			}
			return
		}
		b.do(chromedp.Reload())
	}
}

func matchesAll(text string, patterns []string) bool {
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			return false
		}
	}
	return true
}

// location is the address of the page.
var location = chromedp.Location()

// tick clicks the box that has the label.
func (b *browser) tick(label string) {
	b.t.Helper()
	b.do(chromedp.Click(`//label[normalize-space()=` + strconv.Quote(label) + `]`))
}
