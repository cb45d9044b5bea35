package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// goalList is the data of the page with a site's goals.
type goalList struct {
	Goals    []goalLine
	Visitors int64 // of the site
}

// goalLine is a goal with its conversions.
type goalLine struct {
	account.Goal
	Row   store.Row
	Rate  string // converted visitors as a share of all visitors; "" for server events only
	Share string
}

// matchText describes a match.
type matchText struct{ Kind, Text, Key, Value string }

func describe(m store.Match) matchText {
	if m.Event != "" {
		return matchText{"Event", m.Event, m.PropKey, m.PropValue}
	}
	return matchText{"Page", m.Page, m.PropKey, m.PropValue}
}

// What describes the goal's match.
func (g goalLine) What() matchText { return describe(g.Match) }

func (b *board) listGoals(w http.ResponseWriter, r *http.Request, site account.Site) error {
	p := readPeriod(r, b.Now())
	all, err := b.Store.Totals(r.Context(), p.query(site.ID))
	if err != nil {
		return err
	}
	list, status := goalList{Visitors: all.Visitors}, http.StatusOK
	for _, goal := range b.Account.Goals(site.ID) {
		line, err := b.goalLine(r.Context(), goal, p, all.Visitors)
		if err != nil {
			return err
		}
		list.Goals, status = append(list.Goals, line), p.status()
	}
	return b.show(w, r, status, "goals", view{
		Title: "Goals of " + site.Name, Tab: "goals", Site: site, Period: p, Data: list,
	})
}

func (b *board) goalLine(ctx context.Context, goal account.Goal, p period, visitors int64) (goalLine, error) {
	row, err := b.Store.Count(ctx, p.query(goal.Site), goal.Match)
	line := goalLine{Goal: goal, Row: row, Share: share(row.Visitors, visitors)}
	if visitors > 0 && (row.Visitors > 0 || row.Count == 0) {
		line.Rate = rate(row.Visitors, visitors)
	}
	return line, err
}

// rate returns part of whole in percent, with more digits if it is small.
func rate(part, whole int64) string {
	if whole == 0 {
		return "0%"
	}
	f := 100 * float64(part) / float64(whole)
	digits := 1
	if part == 0 || part == whole {
		digits = 0
	} else if f < 1 {
		digits = 2
	}
	return strconv.FormatFloat(f, 'f', digits, 64) + "%"
}

// goalForm is the data of the page that edits a goal.
type goalForm struct {
	Form form
	ID   string // "" for a new goal
}

func (b *board) newGoal(w http.ResponseWriter, r *http.Request, site account.Site) error {
	return b.goalPage(w, r, http.StatusOK, site, goalForm{})
}

func (b *board) goalPage(w http.ResponseWriter, r *http.Request, status int, site account.Site, g goalForm) error {
	title := "Edit a goal"
	if g.ID == "" {
		title = "Add a goal"
	}
	return b.show(w, r, status, "goal", view{Title: title, Tab: "goals", Site: site, Data: g})
}

func (b *board) goalOf(r *http.Request, site account.Site) (account.Goal, error) {
	for _, goal := range b.Account.Goals(site.ID) {
		if goal.ID == r.PathValue("goal") {
			return goal, nil
		}
	}
	return account.Goal{}, account.ErrNotFound
}

func (b *board) editGoal(w http.ResponseWriter, r *http.Request, site account.Site) error {
	goal, err := b.goalOf(r, site)
	if err != nil {
		return err
	}
	f := form{Values: url.Values{"name": {goal.Name}}}
	newMatchField(f, 1).fill(goal.Match)
	return b.goalPage(w, r, http.StatusOK, site, goalForm{Form: f, ID: goal.ID})
}

// saveGoal adds a goal, or changes the goal in the path.
func (b *board) saveGoal(w http.ResponseWriter, r *http.Request, site account.Site) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	goal := account.Goal{ID: r.PathValue("goal"), Site: site.ID, Name: f.Get("name"), Match: newMatchField(f, 1).match()}
	_, err = b.Account.SaveGoal(r.Context(), goal)
	if f.refused(err) {
		return b.goalPage(w, r, http.StatusUnprocessableEntity, site, goalForm{Form: f, ID: goal.ID})
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, "/sites/"+site.ID+"/goals?done=saved", http.StatusSeeOther)
	return nil
}

func (b *board) deleteGoal(w http.ResponseWriter, r *http.Request, site account.Site) error {
	goal, err := b.goalOf(r, site)
	if err != nil {
		return err
	}
	if err := b.Account.DeleteGoal(r.Context(), goal.ID); err != nil {
		return err
	}
	http.Redirect(w, r, "/sites/"+site.ID+"/goals?done=deleted", http.StatusSeeOther)
	return nil
}
