package account

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/footfall-dev/footfall/collector/store"
)

// Goals returns the goals of a site, by name.
func (a *Account) Goals(site string) []Goal {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return sorted(a.goals, func(g Goal) bool { return g.Site == site }, func(x, y Goal) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID))
	})
}

// SaveGoal adds a goal, or changes the one with g.ID.
func (a *Account) SaveGoal(ctx context.Context, g Goal) (Goal, error) {
	var err error
	if g.Match, err = cleanMatch(g.Match, "match", ""); err != nil {
		return g, err
	}
	if g.Name, err = cleanName("name", cmp.Or(strings.TrimSpace(g.Name), g.Match.Event, g.Match.Page)); err != nil {
		return g, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.owns(g.Site, g.ID, a.goals[g.ID].Site); err != nil {
		return g, err
	}
	g.ID = cmp.Or(g.ID, newID("goal_"))
	return g, save(ctx, a, kindGoal, g.ID, a.goals, g)
}

// owns checks that the site exists and owns the goal or funnel with this ID, if there is one.
func (a *Account) owns(site, id, ownedBy string) error {
	if _, ok := a.sites[site]; !ok || id != "" && ownedBy != site {
		return ErrNotFound
	}
	return nil
}

// DeleteGoal removes a goal.
func (a *Account) DeleteGoal(ctx context.Context, id string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return remove(ctx, a, kindGoal, id, a.goals)
}

// Funnels returns the funnels of a site, by name.
func (a *Account) Funnels(site string) []Funnel {
	a.mu.RLock()
	defer a.mu.RUnlock()
	found := sorted(a.funnels, func(f Funnel) bool { return f.Site == site }, func(x, y Funnel) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID))
	})
	for i := range found {
		found[i].Steps = slices.Clone(found[i].Steps)
	}
	return found
}

// Bounds of the number of steps.
const (
	MinSteps = 2
	MaxSteps = 8
)

// SaveFunnel adds a funnel, or changes the one with f.ID.
func (a *Account) SaveFunnel(ctx context.Context, f Funnel) (Funnel, error) {
	if len(f.Steps) < MinSteps || len(f.Steps) > MaxSteps {
		return f, &FieldError{"steps", "there are " + strconv.Itoa(len(f.Steps)) + "; a funnel has 2 to 8"}
	}
	f.Steps = slices.Clone(f.Steps)
	for i := range f.Steps {
		step, err := cleanMatch(f.Steps[i], "steps", "step "+strconv.Itoa(i+1)+" ")
		if err != nil {
			return f, err
		}
		f.Steps[i] = step
	}
	var err error
	if f.Name, err = cleanName("name", f.Name); err != nil {
		return f, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.owns(f.Site, f.ID, a.funnels[f.ID].Site); err != nil {
		return f, err
	}
	f.ID = cmp.Or(f.ID, newID("funnel_"))
	return f, save(ctx, a, kindFunnel, f.ID, a.funnels, f)
}

// DeleteFunnel removes a funnel.
func (a *Account) DeleteFunnel(ctx context.Context, id string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return remove(ctx, a, kindFunnel, id, a.funnels)
}

// cleanMatch checks and cleans a match. Event names stay as typed, because they are compared
// exactly; spaces around a page are removed. Errors name field and begin with what.
func cleanMatch(m store.Match, field, what string) (store.Match, error) {
	m.Page = strings.TrimSpace(m.Page)
	bad := func(reason string) (store.Match, error) { return m, &FieldError{field, what + reason} }
	switch {
	case m.Page == "" && strings.TrimSpace(m.Event) == "":
		return bad("needs a page or an event")
	case m.Page != "" && m.Event != "":
		return bad("names both a page and an event; use one of them")
	case m.Page != "" && m.Page[0] != '/' && m.Page[0] != '*':
		return bad("has a path that does not begin with / or *")
	case len(m.Page) > store.MaxURL:
		return bad("has a path longer than 2,048 bytes")
	case utf8.RuneCountInString(m.Event) > store.MaxName:
		return bad("has an event name longer than 120 characters")
	case m.PropKey == "" && m.PropValue != "":
		return bad("has a prop value but no prop key")
	case len(m.PropKey) > store.MaxPropKey || len(m.PropValue) > store.MaxPropText:
		return bad("has a prop longer than an event may have")
	case !utf8.ValidString(m.Page + m.Event + m.PropKey + m.PropValue):
		return bad("is not valid UTF-8")
	}
	return m, nil
}
