package dashboard

import (
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// shortTable is the number of rows of a table on the overview.
const shortTable = 8

// table holds the most frequent values of a dimension.
type table struct {
	dimension
	Rows []tableRow
	More bool   // the table was cut
	All  string // path of the full table

	Switch tableSwitch
}

func (t table) shownTables() []table { return []table{t} }

// HasVisitors reports whether the table has a column of visitors. Events of servers have none.
func (t table) HasVisitors() bool {
	return t.Counts == store.Pageviews || slices.ContainsFunc(t.Rows, func(r tableRow) bool { return r.Visitors > 0 })
}

// Compares reports whether the rows have a change.
func (t table) Compares() bool { return len(t.Rows) > 0 && t.Rows[0].Change != nil }

// HasOther reports whether a row sums up texts beyond the bounds of a day.
func (t table) HasOther() bool {
	return slices.ContainsFunc(t.Rows, func(r tableRow) bool { return r.Text == store.Other || r.Text == store.OtherPage })
}

// tableSwitch links to the table that counts the other events.
type tableSwitch struct {
	To     string // "" for no link
	Counts store.Counts
}

// Text is the text of the link.
func (s tableSwitch) Text() string { return "Count " + strings.ToLower(string(s.Counts)) }

// tableRow is a value with its counts.
type tableRow struct {
	Text     string
	Link     string // "" for none
	Only     string // URL of the page with only these events
	Not      string // URL of the page without these events
	Count    int64
	Visitors int64
	Share    string // of the longest bar
	Direct   bool

	Change *figure // since the compared time; nil if rows do not compare
	Sum    float64 // in a propTable with a Number
	value  string  // as stored
}

func newTable(d dimension, p period, site string, rows []store.Row) table {
	t := table{dimension: d, All: p.On("/sites/" + site + "/top/" + d.Slug)}
	most := int64(0)
	for _, row := range rows {
		if row.Value != "" { // direct visits would dwarf all others
			most = max(most, row.Count)
		}
	}
	for _, row := range rows {
		r := tableRow{Text: row.Value, value: row.Value, Count: row.Count, Visitors: row.Visitors, Share: share(row.Count, most), Sum: row.Sum}
		r.Only, r.Not = p.only(d.Field, "", row.Value), p.not(d.Field, "", row.Value)
		switch {
		case d.Dimension == store.Names:
			r.Link = p.OnEvent("/sites/"+site+"/events", row.Value)
		case row.Value == "":
			r.Text, r.Share, r.Direct = "Direct, or within the site", "0%", true
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}
