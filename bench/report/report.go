// Package report formats the results of experiments as Markdown and JSON.
package report

import "fmt"

// Options configures an experiment.
type Options struct {
	Rounds int                              // number of measurements of each figure; the median is reported
	Log    func(format string, args ...any) // reports progress
}

// Section is the result of one experiment.
type Section struct {
	ID     string            `json:"id"`    // of the target, such as "A1"
	Title  string            `json:"title"` // a short heading
	How    string            `json:"how"`   // the method, in a sentence or two
	Tables []Table           `json:"tables"`
	Notes  []string          `json:"notes,omitempty"` // facts for the reader: dropped events, settings, failures
	Plots  map[string]string `json:"-"`               // SVG documents by file name
}

// Bound returns the cell of a target; zero means none.
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
	Rows    [][]any  `json:"rows"`    // string, int, float64, or nil if not measured
}
