package dashboard

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

func (b *board) listFunnels(w http.ResponseWriter, r *http.Request, site account.Site) error {
	p, err := b.readScope(r, site)
	if err != nil {
		return err
	}
	return b.show(w, r, http.StatusOK, "funnels", view{
		Title: "Funnels of " + site.Name, Tab: "funnels", Site: site,
		Period: p, Data: b.Account.Funnels(site.ID),
	})
}

func (b *board) funnelOf(r *http.Request, site account.Site) (account.Funnel, error) {
	for _, funnel := range b.Account.Funnels(site.ID) {
		if funnel.ID == r.PathValue("funnel") {
			return funnel, nil
		}
	}
	return account.Funnel{}, account.ErrNotFound
}

// funnelReport is the data of a funnel's page.
type funnelReport struct {
	account.Funnel
	ByVisitor   funnelBars
	ByCount     funnelBars
	Visitorless int64
}

// funnelBars are the steps of a funnel, counted by visitor or by event.
type funnelBars struct {
	Steps []funnelBar
	Fewer string // what it means that a step has fewer than the previous one
}

// funnelBar is a step.
type funnelBar struct {
	What  matchText
	N     int64
	Share string // of the longest bar
	Rate  string // of the first step
	Fewer int64  // than in the previous step
	Drop  string // Fewer in percent; "" for the first step and if there are not fewer
}

func (b *board) showFunnel(w http.ResponseWriter, r *http.Request, site account.Site) error {
	funnel, err := b.funnelOf(r, site)
	if err != nil {
		return err
	}
	p, err := b.readScope(r, site)
	if err != nil {
		return err
	}
	found, err := b.Store.Funnel(r.Context(), p.query(site.ID), funnel.Steps)
	if err != nil {
		return err
	}
	report := funnelReport{Funnel: funnel, Visitorless: found.Visitorless}
	report.ByVisitor = funnelBars{bars(funnel.Steps, found.Steps, func(s store.FunnelStep) int64 { return s.Visitors }), "lost"}
	report.ByCount = funnelBars{bars(funnel.Steps, found.Steps, func(s store.FunnelStep) int64 { return s.Count }), "fewer"}
	return b.show(w, r, p.status(), "funnel", view{
		Title: funnel.Name, Tab: "funnels", Site: site, Period: p, Data: report,
	})
}

func bars(matches []store.Match, steps []store.FunnelStep, n func(store.FunnelStep) int64) []funnelBar {
	var all []funnelBar
	most := int64(0)
	for _, s := range steps {
		most = max(most, n(s))
	}
	for i, s := range steps {
		bar := funnelBar{What: describe(matches[i]), N: n(s), Share: share(n(s), most), Rate: rate(n(s), n(steps[0]))}
		if i > 0 && n(s) < n(steps[i-1]) {
			bar.Fewer = n(steps[i-1]) - n(s)
			bar.Drop = rate(bar.Fewer, n(steps[i-1]))
		}
		all = append(all, bar)
	}
	return all
}

// funnelForm is the data of the page that edits a funnel.
type funnelForm struct {
	Form form
	ID   string // "" for a new funnel
}

// Rows returns the inputs of all possible steps.
func (f funnelForm) Rows() []matchField {
	var rows []matchField
	for i := range account.MaxSteps {
		rows = append(rows, newMatchField(f.Form, i+1))
	}
	return rows
}

// usualSteps are visible at once; the others unfold.
const usualSteps = 4

// First and More return the visible and the folded part of Rows.
func (f funnelForm) First() []matchField { return f.Rows()[:usualSteps] }
func (f funnelForm) More() []matchField  { return f.Rows()[usualSteps:] }

// IsLong reports whether a folded step is used.
func (f funnelForm) IsLong() bool {
	return slices.ContainsFunc(f.More(), func(m matchField) bool { return !m.Empty() })
}

func (b *board) newFunnel(w http.ResponseWriter, r *http.Request, site account.Site) error {
	return b.funnelPage(w, r, http.StatusOK, site, funnelForm{})
}

func (b *board) funnelPage(w http.ResponseWriter, r *http.Request, status int, site account.Site, f funnelForm) error {
	title := "Edit a funnel"
	if f.ID == "" {
		title = "Add a funnel"
	}
	return b.show(w, r, status, "funnelform", view{Title: title, Tab: "funnels", Site: site, Data: f})
}

func (b *board) editFunnel(w http.ResponseWriter, r *http.Request, site account.Site) error {
	funnel, err := b.funnelOf(r, site)
	if err != nil {
		return err
	}
	f := form{Values: url.Values{"name": {funnel.Name}}}
	for i, step := range funnel.Steps {
		newMatchField(f, i+1).fill(step)
	}
	return b.funnelPage(w, r, http.StatusOK, site, funnelForm{Form: f, ID: funnel.ID})
}

// saveFunnel adds a funnel, or changes the funnel in the path.
func (b *board) saveFunnel(w http.ResponseWriter, r *http.Request, site account.Site) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	typed := funnelForm{Form: f, ID: r.PathValue("funnel")}
	funnel := account.Funnel{ID: typed.ID, Site: site.ID, Name: f.Get("name")}
	for _, row := range typed.Rows() {
		if !row.Empty() {
			funnel.Steps = append(funnel.Steps, row.match())
		}
	}
	funnel, err = b.Account.SaveFunnel(r.Context(), funnel)
	if typed.Form.refused(err) {
		return b.funnelPage(w, r, http.StatusUnprocessableEntity, site, typed)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, "/sites/"+site.ID+"/funnels/"+funnel.ID+"?done=saved", http.StatusSeeOther)
	return nil
}

func (b *board) deleteFunnel(w http.ResponseWriter, r *http.Request, site account.Site) error {
	funnel, err := b.funnelOf(r, site)
	if err != nil {
		return err
	}
	if err := b.Account.DeleteFunnel(r.Context(), funnel.ID); err != nil {
		return err
	}
	http.Redirect(w, r, "/sites/"+site.ID+"/funnels?done=deleted", http.StatusSeeOther)
	return nil
}
