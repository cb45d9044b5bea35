package dashboard

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall/collector/account"
)

// cookieName returns the name of the session cookie. Browsers accept the prefix __Host- only
// over HTTPS and from this exact host.
func (b *board) cookieName() string {
	if b.Secure {
		return "__Host-footfall_session"
	}
	return "footfall_session"
}

// browserCookie returns the name of the cookie that identifies a browser that has signed in.
// It grants no access: see account.Attempts.
func (b *board) browserCookie() string {
	if b.Secure {
		return "__Host-footfall_browser"
	}
	return "footfall_browser"
}

// browser returns the ID of a browser that has signed in before, or "".
func (b *board) browser(r *http.Request) string {
	c, err := r.Cookie(b.browserCookie())
	if err != nil {
		return ""
	}
	id, _ := b.Account.BrowserOf(c.Value, b.Now())
	return id
}

// setBrowser sets the cookie that identifies the browser.
func (b *board) setBrowser(w http.ResponseWriter) {
	c := b.cookie(b.Account.NewBrowser(b.Now()))
	c.Name, c.Expires = b.browserCookie(), b.Now().Add(account.BrowserFor)
	http.SetCookie(w, c)
}

// cookie returns a session cookie. It is SameSite=Lax, so that links from other sites work: with
// Strict, a link in an e-mail would lead to the password form. GET requests change nothing.
func (b *board) cookie(value string) *http.Cookie {
	return &http.Cookie{
		Name: b.cookieName(), Value: value, Path: "/",
		Secure: b.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

func (b *board) token(r *http.Request) string {
	c, err := r.Cookie(b.cookieName())
	if err != nil {
		return ""
	}
	return c.Value
}

func (b *board) isSignedIn(r *http.Request) bool {
	token := b.token(r)
	return token != "" && b.Account.SignedIn(token)
}

// signedIn redirects requests without a session to the sign-in page.
func (b *board) signedIn(do action) action {
	return func(w http.ResponseWriter, r *http.Request) error {
		if b.isSignedIn(r) {
			return do(w, r)
		}
		to := "/login"
		if r.Method == http.MethodGet && r.URL.Path != "/" {
			to += "?" + url.Values{"next": {r.URL.RequestURI()}}.Encode()
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
		return nil
	}
}

// nextPath returns the path to open after signing in. It always stays on this host.
func nextPath(wanted string) string {
	u, err := url.Parse(wanted)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/") ||
		strings.HasPrefix(wanted, "//") || strings.ContainsAny(wanted, "\\\t\r\n") {
		return "/"
	}
	return u.RequestURI()
}

// entrance is the data of the pages for signing in and for setting the first password.
type entrance struct {
	Form  form
	Token string // of the setup link
	Next  string
	Ready bool // a password is set
	Wait  int  // seconds
}

func (b *board) showEntrance(w http.ResponseWriter, r *http.Request, status int, page string, e entrance) error {
	e.Ready = b.Account.HasPassword()
	title := map[string]string{"login": "Sign in", "setup": "Set up"}[page]
	return b.show(w, r, status, page, view{Title: title, Data: e})
}

func (b *board) showLogin(w http.ResponseWriter, r *http.Request) error {
	next := nextPath(r.URL.Query().Get("next"))
	if b.isSignedIn(r) {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	return b.showEntrance(w, r, http.StatusOK, "login", entrance{Next: next})
}

// wait uses an attempt of the client, or returns the seconds until the next one.
func (b *board) wait(w http.ResponseWriter, r *http.Request) (seconds int) {
	wait := b.tries.Take(b.Now(), b.Client(r), b.browser(r))
	if seconds = int(math.Ceil(wait.Seconds())); seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	return seconds
}

func (b *board) signIn(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	e := entrance{Form: f, Next: nextPath(f.Get("next"))}
	if e.Wait = b.wait(w, r); e.Wait > 0 {
		return b.showEntrance(w, r, http.StatusTooManyRequests, "login", e)
	}
	return b.enter(w, r, e)
}

// enter signs in with the password of the form.
func (b *board) enter(w http.ResponseWriter, r *http.Request, e entrance) error {
	token, expires, err := b.Account.SignIn(r.Context(), e.Form.Get("password"))
	if errors.Is(err, account.ErrPassword) {
		e.Form.Errors = map[string]string{"password": "is wrong"}
		return b.showEntrance(w, r, http.StatusUnauthorized, "login", e)
	}
	if err != nil {
		return err
	}
	b.tries.Forgive(b.Client(r), b.browser(r))
	b.setBrowser(w)
	c := b.cookie(token)
	c.Expires = expires
	http.SetCookie(w, c)
	http.Redirect(w, r, nextPath(e.Next), http.StatusSeeOther)
	return nil
}

func (b *board) signOut(w http.ResponseWriter, r *http.Request) error {
	if err := b.Account.SignOut(r.Context(), b.token(r)); err != nil {
		return err
	}
	c := b.cookie("")
	c.MaxAge = -1
	http.SetCookie(w, c)
	http.Redirect(w, r, "/login?done=out", http.StatusSeeOther)
	return nil
}

func (b *board) showSetup(w http.ResponseWriter, r *http.Request) error {
	return b.showEntrance(w, r, http.StatusOK, "setup", entrance{Token: r.URL.Query().Get("token")})
}

// setUp sets the first password. Attempts are not limited: the token is too long to guess,
// checking it is cheap, and a limit would let anyone lock out the owner.
func (b *board) setUp(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	e := entrance{Form: f, Token: f.Get("token"), Next: "/"}
	err = b.Account.SetUp(r.Context(), e.Token, f.Get("password"))
	switch {
	case errors.Is(err, account.ErrPassword):
		e.Form.Errors = map[string]string{"token": "is out of date or was already used"}
		return b.showEntrance(w, r, http.StatusForbidden, "setup", e)
	case e.Form.refused(err):
		return b.showEntrance(w, r, http.StatusUnprocessableEntity, "setup", e)
	case err != nil:
		return err
	}
	return b.enter(w, r, e)
}

func (b *board) showPassword(w http.ResponseWriter, r *http.Request) error {
	return b.passwordPage(w, r, http.StatusOK, form{})
}

func (b *board) passwordPage(w http.ResponseWriter, r *http.Request, status int, f form) error {
	return b.show(w, r, status, "password", view{Title: "Password", Tab: "password", Data: f})
}

// changePassword ends all sessions and signs this browser in again.
func (b *board) changePassword(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	if wait := b.wait(w, r); wait > 0 {
		f.Errors = map[string]string{"old": "was tried too often. Wait " + plural(wait, "second")}
		return b.passwordPage(w, r, http.StatusTooManyRequests, f)
	}
	err = b.Account.ChangePassword(r.Context(), f.Get("old"), f.Get("password"))
	switch {
	case errors.Is(err, account.ErrPassword):
		f.Errors = map[string]string{"old": "is wrong"}
		return b.passwordPage(w, r, http.StatusUnprocessableEntity, f)
	case f.refused(err):
		return b.passwordPage(w, r, http.StatusUnprocessableEntity, f)
	case err != nil:
		return err
	}
	return b.enter(w, r, entrance{Form: f, Next: "/password?done=password"})
}
