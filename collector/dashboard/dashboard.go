// Package dashboard serves the pages of a collector: the figures of each site, and its
// settings. Pages are rendered on the server and work without JavaScript.
//
// Text from events is hostile. It reaches pages only through html/template, and the browser's
// script only through textContent.
package dashboard

import (
	"cmp"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/live"
	"github.com/footfall-dev/footfall/collector/store"
)

// Config configures [New]. Account, Store and Live are required.
type Config struct {
	Account *account.Account
	Store   store.Store
	Live    *live.Hub

	// Logger logs errors of pages. Defaults to slog.Default().
	Logger *slog.Logger

	// PublicURL is the URL at which browsers and servers reach the collector, such as
	// https://stats.example.com. Snippets contain it, and requests from its origin count as
	// same-origin. Defaults to the address of each page request.
	PublicURL string

	// Now is the clock for ranges such as "today". Defaults to time.Now.
	Now func() time.Time

	// Secure restricts the session cookie to HTTPS. Set it if browsers reach the dashboard
	// over HTTPS; over plain HTTP, signing in would then fail.
	Secure bool

	// Client returns the client address of a request. Sign-ins are limited by it. Defaults
	// to RemoteAddr, so that all clients behind a proxy share one limit.
	Client func(*http.Request) netip.Addr

	// ReportTimeout is how long the figures of a page may take; after it the answer is 503.
	// While a [store.Backlogged] store has a backlog, that is 5s at most. The page of sites shows
	// sites without their figures instead. Exports and live views take as long as they need.
	// Defaults to 20s.
	ReportTimeout time.Duration

	// Done ends the live views when it is closed; http.Server.Shutdown would wait for them.
	// Defaults to nil: live views end with their requests.
	Done <-chan struct{}

	// EndExports ends exports when it is closed: each then ends with a line that says so, and its
	// connection is cut. Close it before the connections are closed. Defaults to nil: exports end
	// with their requests.
	EndExports <-chan struct{}
}

// board is the handler that New returns.
type board struct {
	Config
	assets  assets
	pages   map[string]*template.Template
	tries   *account.Attempts
	streams chan struct{} // a slot for each live view
}

// New returns the handler of all pages. It matches every path, so route other endpoints of
// the collector before it.
func New(c Config) http.Handler {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.ReportTimeout = cmp.Or(c.ReportTimeout, 20*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Client == nil {
		c.Client = remoteAddr
	}
	b := &board{Config: c, assets: loadAssets(), tries: account.NewAttempts(), streams: make(chan struct{}, maxStreams)}
	b.pages = loadPages(b.assets)
	return b.guarded(b.routes())
}

func (b *board) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /assets/{file}", b.assets)
	mux.Handle("GET /setup", b.serve(b.showSetup))
	mux.Handle("POST /setup", b.serve(b.setUp))
	mux.Handle("GET /login", b.serve(b.showLogin))
	mux.Handle("POST /login", b.serve(b.signIn))
	mux.Handle("POST /logout", b.serve(b.signOut))

	for pattern, do := range map[string]action{
		"/": notFound,

		"GET /{$}":               b.listSites,
		"GET /sites/new":         b.newSite,
		"POST /sites/new":        b.addSite,
		"GET /keys":              b.listKeys,
		"POST /keys":             b.issueKey,
		"POST /keys/{id}/rotate": b.rotateKey,
		"POST /keys/{id}/revoke": b.revokeKey,
		"GET /password":          b.showPassword,
		"POST /password":         b.changePassword,
	} {
		mux.Handle(pattern, b.serve(b.signedIn(do)))
	}
	for pattern, do := range b.siteRoutes() {
		method, path, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" /sites/{site}"+path, b.serve(b.signedIn(b.ofSite(b.inTime(do)))))
	}
	for pattern, do := range b.streamRoutes() {
		mux.Handle(pattern, b.serve(b.signedIn(b.ofSite(do))))
	}
	return mux
}

// siteRoutes are the pages below /sites/{site}.
func (b *board) siteRoutes() map[string]siteAction {
	return map[string]siteAction{
		"GET ":                 b.overview,
		"GET /top/{dimension}": b.topPage,
		"GET /events":          b.events,
		"GET /live":            b.live,

		"GET /settings":  b.settings,
		"POST /settings": b.changeSite,
		"GET /delete":    b.confirmDelete,
		"POST /delete":   b.deleteSite,

		"GET /goals":                b.listGoals,
		"GET /goals/new":            b.newGoal,
		"POST /goals/new":           b.saveGoal,
		"GET /goals/{goal}":         b.editGoal,
		"POST /goals/{goal}":        b.saveGoal,
		"POST /goals/{goal}/delete": b.deleteGoal,

		"GET /funnels":                  b.listFunnels,
		"GET /funnels/new":              b.newFunnel,
		"POST /funnels/new":             b.saveFunnel,
		"GET /funnels/{funnel}":         b.showFunnel,
		"GET /funnels/{funnel}/edit":    b.editFunnel,
		"POST /funnels/{funnel}/edit":   b.saveFunnel,
		"POST /funnels/{funnel}/delete": b.deleteFunnel,
	}
}

// streamRoutes have no time limit.
func (b *board) streamRoutes() map[string]siteAction {
	return map[string]siteAction{
		"GET /sites/{site}/live/stream": b.stream,
		"GET /sites/{site}/export.csv":  b.exportCSV,
		"GET /sites/{site}/export.json": b.exportJSON,
	}
}

// action answers a request or returns an error.
type action func(http.ResponseWriter, *http.Request) error

// siteAction is an action of a page below a site.
type siteAction func(http.ResponseWriter, *http.Request, account.Site) error

// serve runs do and answers errors with an error page.
func (b *board) serve(do action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := do(w, r); err != nil {
			b.fail(w, r, err)
		}
	})
}

func (b *board) ofSite(do siteAction) action {
	return func(w http.ResponseWriter, r *http.Request) error {
		site, ok := b.Account.Site(r.PathValue("site"))
		if !ok {
			return account.ErrNotFound
		}
		if r.Method == http.MethodGet && b.addTerm(w, r) {
			return nil
		}
		return do(w, r, site)
	}
}

func notFound(http.ResponseWriter, *http.Request) error { return account.ErrNotFound }

// publicURL returns the collector's URL without a trailing slash.
func (b *board) publicURL(r *http.Request) string {
	if b.PublicURL != "" {
		return strings.TrimRight(b.PublicURL, "/")
	}
	here := url.URL{Scheme: "http", Host: r.Host}
	if b.Secure {
		here.Scheme = "https"
	}
	return here.String()
}

// fail answers with an error page.
func (b *board) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	badRange, isRange := errors.AsType[rangeError](err)
	switch {
	case r.Context().Err() != nil:
		return // the client is gone
	case errors.Is(err, account.ErrNotFound):
		status = http.StatusNotFound
	case tooLarge: // before errForm, which it also is
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, errForm):
		status = http.StatusBadRequest
	case errors.Is(err, errBusy):
		status = http.StatusServiceUnavailable
	case isRange:
		b.showErrorPage(w, r, errorPage{Status: http.StatusUnprocessableEntity, Title: "There is no such range", Words: string(badRange)})
		return
	case errors.Is(err, errStopping):
		b.showErrorPage(w, r, stoppingPage)
		return
	case errors.Is(err, store.ErrFull):
		b.Logger.ErrorContext(r.Context(), "dashboard: nothing can be changed", "path", r.URL.Path, "error", err)
		b.showErrorPage(w, r, fullPage)
		return
	case errors.Is(err, errSlow), errors.Is(err, store.ErrTooLarge):
		b.Logger.WarnContext(r.Context(), "dashboard: a report took too long or is too large", "path", r.URL.Path)
		page := slowPage
		page.Backlog = b.backlog()
		b.showErrorPage(w, r, page)
		return
	default:
		b.Logger.ErrorContext(r.Context(), "dashboard: a page failed", "path", r.URL.Path, "error", err)
	}
	b.showError(w, r, status)
}

func remoteAddr(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero address if it has none, as a unix socket
	return at.Addr()
}
