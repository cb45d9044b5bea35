package colstore

import "github.com/footfall-dev/footfall/collector/store"

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
)

// textColumns are the columns whose values are IDs of texts.
var textColumns = []Column{Path, Referrer, Source, Medium, Campaign, Name}

// columnLimit is above all numbers of columns.
const columnLimit = Props + 1

// partPages is the part of a segment with the texts of the paths. Its other parts are columns.
const partPages = 20

// Parts of a rollup.
const (
	PartTotals    = 0 // Totals
	PartProps     = 1 // PropTables
	PartPages     = 10
	PartReferrers = 11
	PartSources   = 12
	PartMediums   = 13
	PartCampaigns = 14
	PartNames     = 15
)

// counted is what a [TopTable] of a dimension counts, and the part of a rollup that has it.
type counted struct {
	by     store.Dimension
	column Column
	part   int
}

// dimensions are the tables of a rollup.
var dimensions = []counted{
	{store.Pages, Path, PartPages},
	{store.Referrers, Referrer, PartReferrers},
	{store.Sources, Source, PartSources},
	{store.Mediums, Medium, PartMediums},
	{store.Campaigns, Campaign, PartCampaigns},
	{store.Names, Name, PartNames},
}

// Dimensions returns the dimensions of a [TopTable].
func Dimensions() []store.Dimension {
	all := make([]store.Dimension, len(dimensions))
	for i, d := range dimensions {
		all[i] = d.by
	}
	return all
}

// RollupParts returns the numbers of all parts of a rollup.
func RollupParts() []int {
	all := []int{PartTotals, PartProps}
	for _, d := range dimensions {
		all = append(all, d.part)
	}
	return all
}

// PartOf returns the part of a rollup with the table of a dimension, or false if there is none.
func PartOf(by store.Dimension) (part int, known bool) {
	d, known := countedBy(by)
	return d.part, known
}

func countedBy(by store.Dimension) (counted, bool) {
	for _, d := range dimensions {
		if d.by == by {
			return d, true
		}
	}
	return counted{}, false
}
