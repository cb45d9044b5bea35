package colstore

import "github.com/footfall-dev/footfall/collector/store"

// Parts of a rollup. PartTop plus a dimension is the table of the dimension.
const (
	PartTotals = 0  // Totals
	PartProps  = 1  // PropTables
	PartTop    = 10 // a TopTable
)

// Dimensions is the number of dimensions of a [TopTable].
const Dimensions = len(dimensionColumns)

// dimensionColumns are the columns that a TopTable counts.
var dimensionColumns = [...]Column{
	store.Pages: Path, store.Referrers: Referrer, store.Sources: Source,
	store.Mediums: Medium, store.Campaigns: Campaign, store.Names: Name,
}
