package dashboard

import (
	"bytes"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
)

// view is the data of layout.html.
type view struct {
	Title    string
	Tab      string       // of the navigation, "" for none
	Site     account.Site // the page's site, if Site.ID is set
	Period   period       // the page's range, if Period.Name is set
	SignedIn bool
	Notice   string // result of the last form
	Data     any
}

// rangePicker is the data of template range.
type rangePicker struct {
	Period period
	Keep   []keptParameter
	Known  []string // values that the form for a condition suggests
}

// Fields and Operators are the choices of the form for a condition.
func (rangePicker) Fields() any    { return fieldWords }
func (rangePicker) Operators() any { return operators }

// keptParameter is a parameter that the picker keeps, such as the name of the event on its page.
type keptParameter struct{ Name, Value string }

// RangePicker returns the picker for this page's range. It keeps parameters, given as names and values, unless the
// value is "".
func (v view) RangePicker(keep ...string) rangePicker {
	picker := v.picker(keep)
	filter := make(url.Values)
	v.Period.filter.set(filter)
	picker.keep(filter)
	return picker
}

// KeptWithCompare are the parameters that a form for another range keeps.
func (r rangePicker) KeptWithCompare() []keptParameter {
	v := make(url.Values)
	r.Period.Compare.set(v)
	r.keep(v)
	return r.Keep
}

// KeptWithRange are the parameters that a form for other columns or another comparison keeps.
func (r rangePicker) KeptWithRange() []keptParameter {
	v := r.Period.choices()
	for _, name := range []string{unitParameter, compareParameter, startParameter, weekdaysParameter} {
		v.Del(name)
	}
	r.keep(v)
	return r.Keep
}

// keep adds parameters to those that forms keep.
func (r *rangePicker) keep(v url.Values) {
	r.Keep = slices.Clip(r.Keep)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		for _, value := range v[name] {
			r.Keep = append(r.Keep, keptParameter{name, value})
		}
	}
}

// FilterForm returns the form that adds a condition to this page's filter.
func (v view) FilterForm(keep ...string) rangePicker {
	picker := v.picker(keep)
	picker.keep(v.Period.values())
	if data, ok := v.Data.(interface{ shownTables() []table }); ok {
		picker.Known = knownValues(data.shownTables())
	}
	return picker
}

// knownValues returns the values of tables, each once, in their order.
func knownValues(of []table) (all []string) {
	for _, t := range of {
		for _, row := range t.Rows {
			if !row.Direct && !slices.Contains(all, row.Text) {
				all = append(all, row.Text)
			}
		}
	}
	return all
}

func (v view) picker(keep []string) rangePicker {
	picker := rangePicker{Period: v.Period}
	for pair := range slices.Chunk(keep, 2) {
		if pair[1] != "" {
			picker.Keep = append(picker.Keep, keptParameter{pair[0], pair[1]})
		}
	}
	return picker
}

// notices describe the result of a form on the next page. URLs carry only the key, so that a
// link cannot put text into the page.
var notices = map[string]string{
	"added":    "The site was added.",
	"saved":    "Saved.",
	"deleted":  "Deleted.",
	"revoked":  "The key was revoked. Requests that use it are now refused.",
	"password": "The password was changed. All other sessions are signed out.",
	"out":      "You are signed out.",
}

// loadPages parses each page with layout.html and the parts.
func loadPages(a assets) map[string]*template.Template {
	names, err := files.ReadDir("templates")
	if err != nil {
		panic(err) // cannot happen: the directory is embedded
	}
	shared := template.New("layout.html").Funcs(template.FuncMap{
		"asset": a.url, "count": count, "number": number, "mean": mean, "plural": plural[int64], "pluralInt": plural[int], "field": newField, "matchField": newMatchField, "day": day, "unit": labelOfUnit,
	})
	template.Must(shared.ParseFS(files, "templates/layout.html", "templates/parts/*.html"))
	pages := make(map[string]*template.Template)
	for _, file := range names {
		if name := file.Name(); name != "layout.html" && !file.IsDir() {
			page := template.Must(template.Must(shared.Clone()).ParseFS(files, path.Join("templates", name)))
			pages[strings.TrimSuffix(name, ".html")] = page
		}
	}
	return pages
}

// show answers with a page. It renders into memory, so that an error does not leave half a
// page.
func (b *board) show(w http.ResponseWriter, r *http.Request, status int, page string, v view) error {
	v.SignedIn = b.isSignedIn(r)
	if v.Notice == "" {
		v.Notice = notices[r.URL.Query().Get("done")]
	}
	var out bytes.Buffer
	if err := b.pages[page].ExecuteTemplate(&out, "layout.html", v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // fails if the client is gone
	return nil
}

// errorPage is the data of the error page.
type errorPage struct {
	Status       int
	Title, Words string
	Backlog      string // of the store; the page then reloads itself
}

var errorPages = map[int]errorPage{
	http.StatusBadRequest:            {Title: "The form could not be read", Words: "Go back and send it again."},
	http.StatusForbidden:             {Title: "This request came from another site", Words: "Nothing was changed. Open the form in this dashboard and send it again."},
	http.StatusNotFound:              {Title: "Page not found", Words: "The address may be wrong, or the item was deleted."},
	http.StatusRequestEntityTooLarge: {Title: "The form is too large", Words: "Nothing was changed. Shorten the text and send it again."},
	http.StatusServiceUnavailable:    {Title: "Too many live views are open", Words: "Close one and try again."},
	http.StatusInternalServerError:   {Title: "Something went wrong", Words: "The service could not answer this request. Its log has the details."},
}

// slowPage is shown if a report takes too long, or too much memory.
var slowPage = errorPage{
	Status: http.StatusServiceUnavailable, Title: "This report takes too long", Words: "Choose a shorter range, or try again later.",
}

// stoppingPage is shown for an export that begins while the service stops.
var stoppingPage = errorPage{
	Status: http.StatusServiceUnavailable, Title: "The service is stopping", Words: "Try again when it runs.",
}

// fullPage is shown if a change cannot be stored.
var fullPage = errorPage{
	Status: http.StatusServiceUnavailable, Title: "The disk is full", Words: "Nothing was changed. Free some space on the disk of the service, and try again.",
}

func (b *board) showError(w http.ResponseWriter, r *http.Request, status int) {
	page := errorPages[status]
	page.Status = status
	b.showErrorPage(w, r, page)
}

func (b *board) showErrorPage(w http.ResponseWriter, r *http.Request, page errorPage) {
	if err := b.show(w, r, page.Status, "error", view{Title: page.Title, Data: page}); err != nil {
		b.Logger.ErrorContext(r.Context(), "dashboard: the error page failed", "error", err)
		http.Error(w, http.StatusText(page.Status), page.Status)
	}
}

// count formats 1234567 as 1,234,567.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// plural formats "1 visitor", "2 visitors".
func plural[N int | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return count(int64(n)) + " " + noun
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006") }
