package colstore

import (
	"maps"
	"slices"

	"github.com/footfall-dev/footfall/collector/store"
)

// The numbers in this file are in the files of collectors. A number never gets another meaning,
// and the number of something that is gone is never used again. So each constant has its value
// written out, and a new one takes a number that never was one.

// Column identifies a column. It is also the number of the column's part of a segment.
type Column int

// Columns. A pageview has no Name.
const (
	Path     Column = 0
	Referrer Column = 1
	Source   Column = 2
	Medium   Column = 3
	Campaign Column = 4
	Name     Column = 5
	At       Column = 6
	Visitor  Column = 7
	Props    Column = 8
	Browser  Column = 9
	Device   Column = 10
)

// textColumns are the columns whose values are IDs of texts.
var textColumns = []Column{Path, Referrer, Source, Medium, Campaign, Name, Browser, Device}

// columnLimit is above all numbers of columns.
const columnLimit = Device + 1

// names are the names of the columns, in the database and in [store.Dimensions].
var names = map[Column]string{
	Path: "path", Referrer: "referrer", Source: "source", Medium: "medium", Campaign: "campaign", Name: "name",
	At: "at", Visitor: "visitor", Props: "props", Browser: "browser", Device: "device",
}

// String returns the name of the column.
func (c Column) String() string { return names[c] }

// partPages is the part of a segment with the texts of the paths. Its other parts are columns.
const partPages = 20

// Parts of a rollup that are no [TopTable].
const (
	PartTotals     = 0 // Totals
	PartProps      = 1 // PropTables
	PartEventHours = 2 // EventTables
	PartEventPages = 3 // EventTables
)

// topParts are the parts of a rollup with the TopTables of dimensions.
var topParts = map[store.Dimension]int{
	store.Pages:     10,
	store.Referrers: 11,
	store.Sources:   12,
	store.Mediums:   13,
	store.Campaigns: 14,
	store.Names:     15,
	store.Browsers:  16,
	store.Devices:   17,

	store.EventPages:     18,
	store.EventSources:   19,
	store.EventMediums:   20,
	store.EventCampaigns: 21,
}

// RollupParts returns the numbers of all parts of a rollup.
func RollupParts() []int {
	all := []int{PartTotals, PartProps, PartEventHours, PartEventPages}
	return append(all, slices.Sorted(maps.Values(topParts))...)
}

// TopPart returns the part of a rollup with the TopTable of a dimension, or false if rollups have none.
func TopPart(by store.Dimension) (part int, ok bool) {
	part, ok = topParts[by]
	return part, ok
}

// columnOf returns the column of a text field.
func columnOf(f store.Field) Column {
	for _, c := range textColumns {
		if c.String() == string(f) {
			return c
		}
	}
	panic("colstore: no column " + f) // cannot happen: a test looks up each field
}
