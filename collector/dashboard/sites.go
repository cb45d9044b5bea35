package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/localtime"
	"github.com/footfall-dev/footfall/collector/store"
)

// siteList is the data of the list of sites.
type siteList struct {
	Sites     []siteLine
	Days      int
	Deletions []account.Deletion
	Orphans   []orphanLine
	Late      bool   // the figures of a site take too long
	Backlog   string // of the store, if Late is set; the page then reloads itself
}

// orphanLine is a site that does not exist, with the number of its events, or -1 if counting them takes
// too long or fails.
type orphanLine struct {
	account.Orphan
	Events int64
}

// siteLine is a site with today's figures.
type siteLine struct {
	account.Site
	Today []figure
	Spark sparkline
	State string
	None  string // why there are no figures; "" if there are
}

// Reasons for a site without figures.
const (
	slowFigures       = "The figures take too long"
	unreadableFigures = "The figures cannot be read"
)

// lines is how many lines of the list of sites are computed concurrently.
const lines = 4

func (b *board) listSites(w http.ResponseWriter, r *http.Request) error {
	list := siteList{Days: 30, Deletions: b.Account.Deletions()}
	if r.URL.Query().Get("days") == "7" {
		list.Days = 7
	}
	ctx, cancel := b.limited(r.Context())
	defer cancel()
	if err := b.fill(ctx, &list); err != nil {
		return err
	}
	if list.Late {
		list.Backlog = b.backlog()
	}
	return b.show(w, r, http.StatusOK, "sites", view{Title: "Sites", Tab: "sites", Data: list})
}

// fill adds the sites with their figures, and those that do not exist. What takes too long or cannot be
// read has none.
func (b *board) fill(ctx context.Context, list *siteList) error {
	sites := b.Account.Sites()
	list.Sites = make([]siteLine, len(sites))
	var ask errgroup.Group
	ask.SetLimit(lines)
	for i, site := range sites {
		ask.Go(func() (err error) {
			list.Sites[i], err = b.siteLine(ctx, site, list.Days)
			if err == nil {
				return nil
			}
			reason, err := b.withoutFigures(ctx, site.ID, err)
			list.Sites[i] = siteLine{Site: site, None: reason}
			return err
		})
	}
	if err := ask.Wait(); err != nil {
		return err
	}
	list.Late = slices.ContainsFunc(list.Sites, func(l siteLine) bool { return l.None == slowFigures })
	for _, o := range b.Account.Orphans() {
		line := orphanLine{o, -1}
		all, err := b.Store.Ask(ctx, store.Ever(o.Site), store.Question{})
		if err == nil {
			line.Events = all[0].Totals.Pageviews + all[0].Totals.Events
		} else if _, err = b.withoutFigures(ctx, o.Site, err); err != nil {
			return err
		}
		list.Orphans = append(list.Orphans, line)
	}
	return nil
}

// withoutFigures returns why a site has no figures, which failed, or an error if the client is gone.
func (b *board) withoutFigures(ctx context.Context, site string, failed error) (reason string, err error) {
	switch {
	case isSlow(ctx):
		return slowFigures, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	b.Logger.ErrorContext(ctx, "dashboard: the figures of a site cannot be read", "site", site, "error", failed)
	return unreadableFigures, nil
}

func (b *board) siteLine(ctx context.Context, site account.Site, days int) (siteLine, error) {
	line := siteLine{Site: site}
	zone := site.Location()
	tomorrow := localtime.DayOf(b.Now(), zone).AddDate(0, 0, 1)
	q := store.Query{Site: site.ID, From: localtime.Start(tomorrow.AddDate(0, 0, -days), zone), To: localtime.Start(tomorrow, zone), Zone: zone}
	answers, err := b.Store.Ask(ctx, q, store.Question{Step: store.Day})
	if err != nil {
		return line, err
	}
	points := answers[0].Points
	line.Spark = newSparkline(points)
	line.Today = todaysFigures(points)
	line.State = state(site, points)
	return line, nil
}

// todaysFigures returns the figures of the last day. If the site has events, visitors and
// pageviews are left out that are zero on all days.
func todaysFigures(days []store.Point) []figure {
	all, today := totalOf(days), days[len(days)-1].Totals
	var shown []figure
	if all.Visitors > 0 || all.Events == 0 {
		shown = append(shown, figure{Label: "Visitors", Value: today.Visitors})
	}
	if all.Pageviews > 0 || all.Events == 0 {
		shown = append(shown, figure{Label: "Pageviews", Value: today.Pageviews})
	}
	return append(shown, figure{Label: "Events", Value: today.Events})
}

// state describes whether events arrive.
func state(site account.Site, points []store.Point) string {
	if site.Paused {
		return "Paused"
	}
	if points[len(points)-1].Totals != (store.Totals{}) {
		return "Active today"
	}
	for _, p := range points {
		if p.Totals != (store.Totals{}) {
			return "Quiet today"
		}
	}
	return "No events yet"
}

// siteForm is the data of the pages that edit a site.
type siteForm struct {
	Form form
	snippets
	Goals, Funnels int
}

// Losses describes what is deleted with the site.
func (f siteForm) Losses() string {
	switch {
	case f.Goals > 0 && f.Funnels > 0:
		return "All of its events, " + plural(f.Goals, "goal") + " and " + plural(f.Funnels, "funnel")
	case f.Goals > 0:
		return "All of its events and " + plural(f.Goals, "goal")
	case f.Funnels > 0:
		return "All of its events and " + plural(f.Funnels, "funnel")
	}
	return "All of its events"
}

func (b *board) newSite(w http.ResponseWriter, r *http.Request) error {
	id := r.URL.Query().Get(eventsOf)
	if id == "" {
		return b.newSitePage(w, r, http.StatusOK, form{})
	}
	if !slices.ContainsFunc(b.Account.Orphans(), func(o account.Orphan) bool { return o.Site == id }) {
		return account.ErrNotFound
	}
	latest, err := b.Store.Recent(r.Context(), store.Ever(id), 1)
	if err != nil {
		return err
	}
	f := form{Values: url.Values{eventsOf: {id}}}
	if len(latest) > 0 {
		if page, err := url.Parse(latest[0].URL); err == nil {
			f.Set("domain", page.Hostname()) // a suggestion: it may be a subdomain
		}
	}
	return b.newSitePage(w, r, http.StatusOK, f)
}

// eventsOf is the parameter with the ID of a site that does not exist, whose events a new site gets.
const eventsOf = "events"

func (b *board) newSitePage(w http.ResponseWriter, r *http.Request, status int, f form) error {
	return b.show(w, r, status, "newsite", view{Title: "Add a site", Tab: "sites", Data: siteForm{Form: f}})
}

func (b *board) addSite(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	var site account.Site
	if id := f.Get(eventsOf); id != "" {
		site, err = b.Account.RecoverSite(r.Context(), id, f.Get("name"), f.Get("domain"), f.Get("zone"))
	} else {
		site, err = b.Account.AddSiteIn(r.Context(), f.Get("name"), f.Get("domain"), f.Get("zone"))
	}
	if f.refused(err) {
		return b.newSitePage(w, r, http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, "/sites/"+site.ID+"?done=added", http.StatusSeeOther)
	return nil
}

func (b *board) settings(w http.ResponseWriter, r *http.Request, site account.Site) error {
	f := form{Values: url.Values{"name": {site.Name}, "domain": {site.Domain}, "zone": {site.Location().String()}}}
	if site.Paused {
		f.Set("paused", "yes")
	}
	if site.OwnPages {
		f.Set("ownpages", "yes")
	}
	return b.settingsPage(w, r, http.StatusOK, site, f)
}

func (b *board) settingsPage(w http.ResponseWriter, r *http.Request, status int, site account.Site, f form) error {
	return b.show(w, r, status, "settings", view{
		Title: "Settings for " + site.Name, Tab: "settings", Site: site,
		Data: siteForm{Form: f, snippets: b.snippets(r, site)},
	})
}

func (b *board) changeSite(w http.ResponseWriter, r *http.Request, site account.Site) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	changed := site
	changed.Name, changed.Domain, changed.Zone = f.Get("name"), f.Get("domain"), f.Get("zone")
	changed.Paused, changed.OwnPages = f.Get("paused") == "yes", f.Get("ownpages") == "yes"
	err = b.Account.ChangeSite(r.Context(), changed)
	if f.refused(err) {
		return b.settingsPage(w, r, http.StatusUnprocessableEntity, site, f)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, "/sites/"+site.ID+"/settings?done=saved", http.StatusSeeOther)
	return nil
}

func (b *board) confirmDelete(w http.ResponseWriter, r *http.Request, site account.Site) error {
	return b.deletePage(w, r, http.StatusOK, site, form{})
}

func (b *board) deletePage(w http.ResponseWriter, r *http.Request, status int, site account.Site, f form) error {
	return b.show(w, r, status, "delete", view{
		Title: "Delete " + site.Name, Tab: "settings", Site: site,
		Data: siteForm{Form: f, Goals: len(b.Account.Goals(site.ID)), Funnels: len(b.Account.Funnels(site.ID))},
	})
}

// deleteSite requires the typed domain, to prevent accidental clicks.
func (b *board) deleteSite(w http.ResponseWriter, r *http.Request, site account.Site) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	if strings.TrimSpace(f.Get("domain")) != site.Domain {
		f.Errors = map[string]string{"domain": "is not " + site.Domain}
		return b.deletePage(w, r, http.StatusUnprocessableEntity, site, f)
	}
	if err := b.Account.DeleteSite(r.Context(), site.ID); err != nil {
		return err
	}
	http.Redirect(w, r, "/?done=deleted", http.StatusSeeOther)
	return nil
}
