package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/footfall-dev/footfall/collector"
	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// errorPages are the pages of refused requests and failures. The last one signs in at another
// service.
func errorPages() []page {
	return []page{
		{name: "too-large", get: func(b *browser, s *service) {
			b.open(s.url + "/sites/new")
			eval[bool](b, `document.querySelector("[name=domain]").value = "shop.example.com",
				document.querySelector("[name=name]").value = "x".repeat(200000), true`)
			b.press("Add the site")
		}, status: http.StatusRequestEntityTooLarge},
		{name: "from-another-site", get: fromAnotherSite, status: http.StatusForbidden},
		{name: "failed", get: failed, status: http.StatusInternalServerError},
	}
}

// fromAnotherSite sends a form of another origin to the service.
func fromAnotherSite(b *browser, s *service) {
	b.t.Helper()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, fmt.Sprintf(`<!doctype html><link rel=icon href=data:,><form method=post action="%s/login"><button>Win</button></form>`, s.url))
	}))
	b.t.Cleanup(other.Close)
	b.open(other.URL)
	b.press("Win")
}

// failed opens the overview of a service whose store fails.
func failed(b *browser, _ *service) {
	b.t.Helper()
	var site account.Site
	s := startServiceWith(b.t, func(_ store.Store, a *account.Account) {
		owned(b.t, a)
		site = addSite(b.t, a, "", "shop.example.com")
	}, func(cfg *collector.Config) { cfg.Store = broken{cfg.Store} })
	b.signInTo(s)
	b.open(s.url + "/sites/" + site.ID)
}

// broken is a store without totals.
type broken struct{ store.Store }

func (broken) Ask(context.Context, store.Query, ...store.Question) ([]store.Answer, error) {
	return nil, errors.New("the disk is gone")
}
