package dashboard

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/spreadsheet"
	"github.com/footfall-dev/footfall/collector/store"
)

// longTable is the number of rows of a table on its page.
const longTable = 500

// Parameters of the page of a table.
const (
	searchParameter = "search" // a part of the texts; ignores case
	pageParameter   = "page"   // from 1
)

// maxSearch is the longest text to search for, in bytes.
const maxSearch = 200

// tablePage is the data of the page of one table.
type tablePage struct {
	table
	Search string
	Page   int // from 1

	self url.URL
}

// Next and Previous return the URLs of the rows after and before these, "" for none.
func (t tablePage) Next() string {
	if !t.More || t.Page*longTable >= store.MaxRows {
		return ""
	}
	return t.at(t.Page + 1)
}

func (t tablePage) Previous() string {
	if t.Page == 1 {
		return ""
	}
	return t.at(t.Page - 1)
}

// Bounded reports whether there are more rows than pages show.
func (t tablePage) Bounded() bool { return t.More && t.Next() == "" }

func (t tablePage) at(page int) string {
	query := t.self.Query()
	query.Del(pageParameter)
	if page > 1 {
		query.Set(pageParameter, strconv.Itoa(page))
	}
	return t.self.Path + "?" + query.Encode()
}

// CSV returns the URL of the table as a file.
func (t tablePage) CSV() string {
	link := strings.Replace(t.All, "?", ".csv?", 1)
	if t.Search == "" {
		return link
	}
	return link + "&" + url.Values{searchParameter: {t.Search}}.Encode()
}

// topPage shows one table in full, or sends it as a file.
func (b *board) topPage(w http.ResponseWriter, r *http.Request, site account.Site) error {
	slug, file := strings.CutSuffix(r.PathValue("dimension"), ".csv")
	for _, d := range dimensions {
		if d.Slug == slug && file {
			return b.exportTable(w, r, site, d)
		}
		if d.Slug == slug {
			return b.showTable(w, r, site, d)
		}
	}
	return account.ErrNotFound
}

func (b *board) showTable(w http.ResponseWriter, r *http.Request, site account.Site, d dimension) error {
	p, err := b.readScope(r, site)
	if err != nil {
		return err
	}
	t := tablePage{Search: readSearch(r), Page: readPage(r), self: *r.URL}
	q := d.question(longTable)
	q.Search, q.Offset = t.Search, (t.Page-1)*longTable
	answers, err := b.Store.Ask(r.Context(), p.query(site.ID), q)
	if err != nil {
		return err
	}
	t.table = newTable(d, p, site.ID, answers[0].Rows)
	t.More = answers[0].More
	if p.Compare.Rows() {
		then, err := b.earlier(r.Context(), site.ID, p, []dimension{d}, answers)
		if err != nil {
			return err
		}
		then.compare(&t.table)
	}
	if twin, ok := d.twin(); ok {
		t.Switch = tableSwitch{To: p.On("/sites/" + site.ID + "/top/" + twin.Slug), Counts: twin.Counts}
	}
	return b.show(w, r, p.status(), "top", view{
		Title: d.Title + " of " + site.Name, Tab: "overview", Site: site, Period: p, Data: t,
	})
}

// readSearch returns what a table is searched for.
func readSearch(r *http.Request) string {
	text := strings.TrimSpace(r.URL.Query().Get(searchParameter))
	return strings.ToValidUTF8(text[:min(len(text), maxSearch)], "")
}

// readPage returns the number of a page of a table: the first one if there is no such page.
func readPage(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get(pageParameter))
	if err != nil || n < 1 || n > store.MaxRows/longTable {
		return 1
	}
	return n
}

// exportTable sends all rows of a table as CSV. If there are more than store.MaxRows, the last row says so.
func (b *board) exportTable(w http.ResponseWriter, r *http.Request, site account.Site, d dimension) error {
	p, err := b.readScope(r, site)
	if err != nil {
		return err
	}
	if problem := p.Problem + p.FilterProblem; problem != "" {
		return rangeError(problem)
	}
	q := d.question(store.MaxRows)
	q.Search = readSearch(r)
	answers, err := b.Store.Ask(r.Context(), p.query(site.ID), q)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	file := csv.NewWriter(&out)
	rows := [][]string{{strings.ToLower(d.What), strings.ToLower(string(d.Counts)), "visitors"}}
	for _, row := range answers[0].Rows {
		rows = append(rows, []string{spreadsheet.Guard(row.Value), strconv.FormatInt(row.Count, 10), strconv.FormatInt(row.Visitors, 10)})
	}
	if answers[0].More {
		rows = append(rows, []string{"This table is incomplete: it has the first " + count(store.MaxRows) + " rows only."}) // one cell, an error for programs
	}
	if err := file.WriteAll(rows); err != nil {
		return err
	}
	w.Header().Set("Content-Type", exportTypes["csv"])
	name := fileName(site.Domain) + "_" + d.Slug + "_" + p.From.Format(time.DateOnly) + "_" + p.Last().Format(time.DateOnly) + ".csv"
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_, err = out.WriteTo(w)
	return err
}
