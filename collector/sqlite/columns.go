package sqlite

import (
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// textColumns are the columns of an event that hold IDs of texts, except its site and the origin
// of its URL.
var textColumns = func() (all []store.DimensionInfo) {
	for _, d := range store.Dimensions() {
		if !slices.ContainsFunc(all, func(known store.DimensionInfo) bool { return known.Column == d.Column }) {
			all = append(all, d)
		}
	}
	return all
}()

// textColumnNames are the names of textColumns, separated by commas.
var textColumnNames = func() string {
	var names []string
	for _, d := range textColumns {
		names = append(names, d.Column)
	}
	return strings.Join(names, ", ")
}()

// insertEvent inserts an event. Its parameters are those columns and then all textColumns.
var insertEvent = "INSERT INTO event (site, at, seq, visitor, origin, rest, props, " + textColumnNames +
	") VALUES (?, ?, ?, ?, ?, ?, ?" + strings.Repeat(", ?", len(textColumns)) + ")"

// fixedParameters is the number of parameters of insertEvent before textColumns.
const fixedParameters = 7
