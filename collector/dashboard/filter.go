package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// A filter is in the URL of each page as parameters with the name of an operator, such as is=source:news. Several values of one
// operator and field are one condition. A field is one of fieldWords, prop: and a key, or goal.

// fieldWords are the words of fields in URLs, and their labels.
var fieldWords = []struct {
	Word  string
	Field store.Field
	Label string
}{
	{"page", store.Path, "Page"},
	{"referrer", store.Referrer, "Referrer"},
	{"source", store.Source, "Source"},
	{"medium", store.Medium, "Medium"},
	{"campaign", store.Campaign, "Campaign"},
	{"event", store.Name, "Event"},
	{"browser", store.Browser, "Browser"},
	{"device", store.Device, "Device"},
}

const (
	goalWord   = "goal"
	propPrefix = "prop:"
)

// operators are the operators in the order of their parameters in URLs, and their labels.
var operators = []struct {
	Op    store.Op
	Label string
}{
	{store.Is, "is"}, {store.IsNot, "is not"}, {store.Contains, "contains"}, {store.ContainsNot, "does not contain"},
}

func labelOf(op store.Op) string {
	for _, o := range operators {
		if o.Op == op {
			return o.Label
		}
	}
	return ""
}

// term is a value of a condition, as in a URL.
type term struct {
	op    store.Op
	field string // a word; prop: and an escaped key; or goal
	value string // of a goal its ID
}

// filter is the terms of a page, in the order of the URL.
type filter []term

// readFilter returns the filter of a request. It leaves out wrong terms and describes one of them.
func readFilter(query url.Values) (f filter, problem string) {
	for _, o := range operators {
		for _, text := range query[string(o.Op)] {
			t, ok := readTerm(o.Op, text)
			if !ok {
				problem = "The address has a condition that does not exist, which was left out: " + string(o.Op) + "=" + shorten(text) + "."
				continue
			}
			if !slices.Contains(f, t) {
				f = append(f, t)
			}
		}
	}
	return f, problem
}

func shorten(text string) string {
	const most = 100
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

func readTerm(op store.Op, text string) (t term, ok bool) {
	field, value, ok := strings.Cut(text, ":")
	if ok && field+":" == propPrefix {
		var key string
		key, value, ok = strings.Cut(value, ":")
		field = propPrefix + key
	}
	t = term{op, field, value}
	if !ok || field == goalWord {
		return t, ok
	}
	_, _, ok = t.fieldOf()
	return t, ok
}

// fieldOf returns the field, and the key of a prop.
func (t term) fieldOf() (field store.Field, key string, ok bool) {
	if key, isProp := strings.CutPrefix(t.field, propPrefix); isProp {
		key, err := url.QueryUnescape(key)
		return store.PropOf, key, err == nil
	}
	for _, w := range fieldWords {
		if w.Word == t.field {
			return w.Field, "", true
		}
	}
	return "", "", false
}

// termOf returns the term of a value of a field; key is of a prop.
func termOf(op store.Op, field store.Field, key, value string) term {
	if field == store.PropOf {
		return term{op, propPrefix + url.QueryEscape(key), value}
	}
	for _, w := range fieldWords {
		if w.Field == field {
			return term{op, w.Word, value}
		}
	}
	return term{op, string(field), value}
}

// set adds the terms to the parameters of a URL.
func (f filter) set(v url.Values) {
	for _, t := range f {
		v.Add(string(t.op), t.field+":"+t.value)
	}
}

// with returns the filter with one more term. A term of the same field and value with another operator goes.
func (f filter) with(t term) filter {
	return append(slices.DeleteFunc(slices.Clone(f), func(u term) bool { return u.field == t.field && u.value == t.value }), t)
}

// without returns the filter without a term.
func (f filter) without(t term) filter {
	return slices.DeleteFunc(slices.Clone(f), func(u term) bool { return u == t })
}

// store returns the filter for the store, and what is wrong with it. Goals that do not exist any more are left out.
func (f filter) store(goals []account.Goal) (all store.Filter, problem string) {
	for _, t := range f {
		c := store.Condition{Op: t.op, Field: store.Goal}
		if t.field == goalWord {
			i := slices.IndexFunc(goals, func(g account.Goal) bool { return g.ID == t.value })
			if i < 0 {
				problem = "The address has a goal that does not exist any more, which was left out."
				continue
			}
			c.Goals = []store.Match{goals[i].Match}
		} else {
			c.Field, c.Key, _ = t.fieldOf()
			c.Values = []string{t.value}
		}
		all = addCondition(all, c)
	}
	if err := all.Check(); err != nil {
		return nil, "The filter was left out: " + err.Error() + "."
	}
	return all, problem
}

// addCondition adds a condition, or its values to the one with the same operator and field.
func addCondition(to store.Filter, c store.Condition) store.Filter {
	for i := range to {
		if old := &to[i]; old.Op == c.Op && old.Field == c.Field && old.Key == c.Key {
			old.Values, old.Goals = append(old.Values, c.Values...), append(old.Goals, c.Goals...)
			return to
		}
	}
	return append(to, c)
}

// chip is a term as the page shows it.
type chip struct {
	Field, Op, Value string
	Remove           string // URL of the page without it
}

// label returns the name of the field.
func (t term) label() string {
	if t.field == goalWord {
		return "Goal"
	}
	if _, key, _ := t.fieldOf(); strings.HasPrefix(t.field, propPrefix) {
		return key
	}
	for _, w := range fieldWords {
		if w.Word == t.field {
			return w.Label
		}
	}
	return t.field
}

// addTerm redirects a request of the form for a condition to the page with that condition, and reports whether it was one.
func (b *board) addTerm(w http.ResponseWriter, r *http.Request) bool {
	query := r.URL.Query()
	if !query.Has("op") {
		return false
	}
	t := term{store.Op(query.Get("op")), query.Get("field"), strings.TrimSpace(query.Get("value"))}
	if t.field == propPrefix {
		t.field += url.QueryEscape(strings.TrimSpace(query.Get("key")))
	}
	f, _ := readFilter(query)
	http.Redirect(w, r, at(r.URL, f.with(t)), http.StatusSeeOther)
	return true
}

// readScope returns the range and the filter of a page of a site.
func (b *board) readScope(r *http.Request, site account.Site) (period, error) {
	return b.scopeFrom(r, site, func() (time.Time, error) { return store.First(r.Context(), b.Store, site.ID, b.Now()) })
}

// scopeFrom is readScope with another time of the first event.
func (b *board) scopeFrom(r *http.Request, site account.Site, first func() (time.Time, error)) (period, error) {
	p, err := readPeriod(r, b.Now(), site.Location(), first)
	if err != nil {
		return p, err
	}
	f, problem := readFilter(r.URL.Query())
	p.filter = f
	goals := b.Account.Goals(site.ID)
	var unknown string
	p.conditions, unknown = f.store(goals)
	p.FilterProblem = problem + unknown
	p.self = *r.URL
	for _, t := range f {
		c := chip{Field: t.label(), Op: labelOf(t.op), Value: t.value, Remove: at(r.URL, f.without(t))}
		for _, g := range goals {
			if t.field == goalWord && g.ID == t.value {
				c.Value = g.Name
			}
		}
		if t.value == "" {
			c.Value = emptyValue(t.field)
		}
		p.Chips = append(p.Chips, c)
	}
	return p, nil
}

// emptyValue is how the page names an empty text.
func emptyValue(field string) string {
	switch {
	case strings.HasPrefix(field, propPrefix):
		return "(empty)"
	case field == "event":
		return "a pageview"
	case field == "referrer":
		return "direct"
	}
	return "none"
}

// at returns the URL of a page with another filter.
func at(page *url.URL, f filter) string {
	query := page.Query()
	for _, o := range operators {
		query.Del(string(o.Op))
	}
	for _, name := range []string{"field", "key", "op", "value", pageParameter} { // of the form, and of a table that changes
		query.Del(name)
	}
	f.set(query)
	return page.Path + "?" + query.Encode()
}

// only and not return the URLs of the page with one more condition.
func (p period) only(field store.Field, key, value string) string {
	return at(&p.self, p.filter.with(termOf(store.Is, field, key, value)))
}

func (p period) not(field store.Field, key, value string) string {
	return at(&p.self, p.filter.with(termOf(store.IsNot, field, key, value)))
}

// Filtered reports whether the page has conditions.
func (p period) Filtered() bool { return len(p.conditions) > 0 }
