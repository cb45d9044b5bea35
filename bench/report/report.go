// Package report is what an experiment finds, as Markdown and as JSON.
package report

import "fmt"

// Options are what an experiment is run with.
type Options struct {
	Rounds int                              // how often each figure is taken; the median is reported
	Log    func(format string, args ...any) // progress, for the one who waits
}

// Section is one experiment.
type Section struct {
	ID     string            `json:"id"`    // of the target, such as "A1"
	Title  string            `json:"title"` // a short heading
	How    string            `json:"how"`   // the method, in a sentence or two
	Tables []Table           `json:"tables"`
	Notes  []string          `json:"notes,omitempty"` // what a reader must know: events dropped, settings, failures
	Plots  map[string]string `json:"-"`               // SVG documents by file name
}

// Bound is the cell of a target, of which zero says that there is none.
func Bound(sign string, n float64) any {
	if n == 0 {
		return nil
	}
	return fmt.Sprintf("%s %.0f", sign, n)
}

// Table has a cell for each column in each row.
type Table struct {
	Caption string   `json:"caption,omitempty"`
	Columns []string `json:"columns"` // with the unit, such as "ns"
	Rows    [][]any  `json:"rows"`    // string, int, float64 or nil for what was not measured
}
