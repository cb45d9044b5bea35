package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall/collector/account"
)

// cookieName names the session's cookie. Browsers take a name with __Host- only from
// this very host by HTTPS.
func (b *board) cookieName() string {
	if b.Secure {
		return "__Host-footfall_session"
	}
	return "footfall_session"
}

// cookie is sent by links from elsewhere too (Lax), for what they open changes nothing;
// with Strict a link in a message would ask for the password each time.
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

// signedIn sends everybody else to the sign-in page.
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

// nextPath is where to go after signing in: a path of this host, whatever was asked for.
func nextPath(wanted string) string {
	u, err := url.Parse(wanted)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/") ||
		strings.HasPrefix(wanted, "//") || strings.ContainsAny(wanted, "\\\t\r\n") {
		return "/"
	}
	return u.RequestURI()
}

// gate is what the pages before one is signed in show.
type gate struct {
	Form  form
	Token string // of the setup link
	Next  string
	Ready bool // there is a password
	Wait  int  // seconds
}

func (b *board) showGate(w http.ResponseWriter, r *http.Request, status int, page string, g gate) error {
	g.Ready = b.Account.HasPassword()
	title := map[string]string{"login": "Sign in", "setup": "Set up"}[page]
	return b.show(w, r, status, page, view{Title: title, Data: g})
}

func (b *board) showLogin(w http.ResponseWriter, r *http.Request) error {
	next := nextPath(r.URL.Query().Get("next"))
	if b.isSignedIn(r) {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	return b.showGate(w, r, http.StatusOK, "login", gate{Next: next})
}

// limited answers for a client that has no try left, and reports whether it did.
func (b *board) limited(w http.ResponseWriter, r *http.Request, page string, g gate) (bool, error) {
	wait := seconds(b.logins.take(b.Now(), clientPrefix(b.Client(r))))
	if wait == 0 {
		return false, nil
	}
	w.Header().Set("Retry-After", strconv.Itoa(wait))
	g.Wait = wait
	return true, b.showGate(w, r, http.StatusTooManyRequests, page, g)
}

func (b *board) signIn(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	g := gate{Form: f, Next: nextPath(f.Get("next"))}
	if limited, err := b.limited(w, r, "login", g); limited {
		return err
	}
	return b.enter(w, r, g)
}

// enter signs in with the password of the form.
func (b *board) enter(w http.ResponseWriter, r *http.Request, g gate) error {
	token, expires, err := b.Account.SignIn(r.Context(), g.Form.Get("password"))
	if errors.Is(err, account.ErrPassword) {
		g.Form.Errors = map[string]string{"password": "is not the right one"}
		return b.showGate(w, r, http.StatusUnauthorized, "login", g)
	}
	if err != nil {
		return err
	}
	b.logins.forgive(clientPrefix(b.Client(r)))
	c := b.cookie(token)
	c.Expires = expires
	http.SetCookie(w, c)
	http.Redirect(w, r, nextPath(g.Next), http.StatusSeeOther)
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
	return b.showGate(w, r, http.StatusOK, "setup", gate{Token: r.URL.Query().Get("token")})
}

// setUp sets the first password. The account compares the token.
func (b *board) setUp(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	g := gate{Form: f, Token: f.Get("token"), Next: "/"}
	if limited, err := b.limited(w, r, "setup", g); limited {
		return err
	}
	err = b.Account.SetUp(r.Context(), g.Token, f.Get("password"))
	switch {
	case errors.Is(err, account.ErrPassword):
		g.Form.Errors = map[string]string{"token": "is not the one of this start, or was used"}
		return b.showGate(w, r, http.StatusForbidden, "setup", g)
	case g.Form.refused(err):
		return b.showGate(w, r, http.StatusUnprocessableEntity, "setup", g)
	case err != nil:
		return err
	}
	return b.enter(w, r, g)
}

func (b *board) showPassword(w http.ResponseWriter, r *http.Request) error {
	return b.passwordPage(w, r, http.StatusOK, form{})
}

func (b *board) passwordPage(w http.ResponseWriter, r *http.Request, status int, f form) error {
	return b.show(w, r, status, "password", view{Title: "Password", Tab: "password", Data: f})
}

// changePassword signs everybody out, and the one who changed it in again.
func (b *board) changePassword(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	if wait := seconds(b.logins.take(b.Now(), clientPrefix(b.Client(r)))); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(wait))
		f.Errors = map[string]string{"old": "was tried too often; wait " + plural(wait, "second")}
		return b.passwordPage(w, r, http.StatusTooManyRequests, f)
	}
	err = b.Account.ChangePassword(r.Context(), f.Get("old"), f.Get("password"))
	switch {
	case errors.Is(err, account.ErrPassword):
		f.Errors = map[string]string{"old": "is not the right one"}
		return b.passwordPage(w, r, http.StatusUnprocessableEntity, f)
	case f.refused(err):
		return b.passwordPage(w, r, http.StatusUnprocessableEntity, f)
	case err != nil:
		return err
	}
	return b.enter(w, r, gate{Form: f, Next: "/password?done=password"})
}
