package dashboard

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/footfall-dev/footfall/collector/account"
)

// keyList is the data of the page with the API keys.
type keyList struct {
	Keys   []account.Key
	Form   form
	Secret string // secret of Fresh, shown on this page only
	Fresh  account.Key
	Server server
}

// ForEvents reports whether the snippets have the secret.
func (l keyList) ForEvents() bool { return l.Secret != "" && l.Fresh.Scope == account.ScopeEvents }

// HasSite reports whether the snippets have the ID of a site.
func (l keyList) HasSite() bool { return !strings.Contains(l.Server.Env, anySite) }

func (b *board) listKeys(w http.ResponseWriter, r *http.Request) error {
	return b.keysPage(w, r, http.StatusOK, keyList{})
}

func (b *board) keysPage(w http.ResponseWriter, r *http.Request, status int, list keyList) error {
	list.Keys = b.Account.Keys()
	secret := list.Secret
	if list.Fresh.Scope != account.ScopeEvents {
		secret = "" // it cannot send events
	}
	list.Server = b.server(r, cmp.Or(secret, anyKey), b.Account.Sites()...)
	return b.show(w, r, status, "keys", view{Title: "API keys", Tab: "keys", Data: list})
}

// issueKey answers the POST with the secret instead of a redirect, so that no URL contains
// the secret and nothing has to store it.
func (b *board) issueKey(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	scope := account.ScopeEvents
	if f.Get("scope") == string(account.ScopeStats) {
		scope = account.ScopeStats
	}
	secret, key, err := b.Account.IssueKeyFor(r.Context(), scope, f.Get("label"))
	if f.refused(err) {
		return b.keysPage(w, r, http.StatusUnprocessableEntity, keyList{Form: f})
	}
	if err != nil {
		return err
	}
	return b.keysPage(w, r, http.StatusOK, keyList{Secret: secret, Fresh: key})
}

func (b *board) rotateKey(w http.ResponseWriter, r *http.Request) error {
	secret, key, err := b.Account.RotateKey(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return b.keysPage(w, r, http.StatusOK, keyList{Secret: secret, Fresh: key})
}

func (b *board) revokeKey(w http.ResponseWriter, r *http.Request) error {
	if err := b.Account.RevokeKey(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	http.Redirect(w, r, "/keys?done=revoked", http.StatusSeeOther)
	return nil
}
