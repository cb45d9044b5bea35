package dashboard

import (
	"net/http"
	"net/url"
	"slices"
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

	Only, Not string // URLs of the overview with the visitors who reached it, and without them
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
	p, err := b.readScope(r, site)
	if err != nil {
		return err
	}
	goals := b.Account.Goals(site.ID)
	answers, err := b.Store.Ask(r.Context(), p.query(site.ID), goalQuestions(goals)...)
	if err != nil {
		return err
	}
	list, status := goalList{Visitors: answers[0].Totals.Visitors}, http.StatusOK
	for i, goal := range goals {
		row := answers[1+i/store.MaxGoals].Rows[i%store.MaxGoals]
		list.Goals, status = append(list.Goals, newGoalLine(p, goal, row, list.Visitors)), p.status()
	}
	return b.show(w, r, status, "goals", view{
		Title: "Goals of " + site.Name, Tab: "goals", Site: site, Period: p, Data: list,
	})
}

// goalQuestions asks for the totals, and then for the goals, as many at once as a question may have.
func goalQuestions(goals []account.Goal) []store.Question {
	all := []store.Question{{}}
	for some := range slices.Chunk(goals, store.MaxGoals) {
		var q store.Question
		for _, goal := range some {
			q.Goals = append(q.Goals, goal.Match)
		}
		all = append(all, q)
	}
	return all
}

func newGoalLine(p period, goal account.Goal, row store.Row, visitors int64) goalLine {
	line := goalLine{Goal: goal, Row: row, Share: share(row.Visitors, visitors)}
	overview := url.URL{Path: "/sites/" + goal.Site, RawQuery: p.values().Encode()}
	line.Only = at(&overview, p.filter.with(term{store.Is, goalWord, goal.ID}))
	line.Not = at(&overview, p.filter.with(term{store.IsNot, goalWord, goal.ID}))
	if visitors > 0 && (row.Visitors > 0 || row.Count == 0) {
		line.Rate = rate(row.Visitors, visitors)
	}
	return line
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
