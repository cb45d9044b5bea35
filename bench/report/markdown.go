package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Markdown writes the results in the format of RESULTS.md.
func (r *Results) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Results\n\n%s: %s, %d cores, %s, %s. Medians of %d rounds where a section says nothing else.\n", r.Date.Format("2 January 2006"),
		r.Machine.CPU, r.Machine.Cores, r.Machine.Kernel, r.Machine.Go, r.Rounds)
	for i := range r.Sections {
		r.Sections[i].write(&b)
	}
	b.WriteString("\n## Versions\n\n")
	versions := Table{Columns: []string{"module", "version"}}
	for _, m := range r.Modules {
		versions.Rows = append(versions.Rows, []any{m.Path, m.Version})
	}
	versions.write(&b)
	if len(r.Missing) > 0 {
		b.WriteByte('\n')
	}
	for _, missing := range r.Missing {
		fmt.Fprintf(&b, "- %s\n", missing)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown returns the section alone.
func (s *Section) Markdown() string {
	var b strings.Builder
	s.write(&b)
	return b.String()
}

func (s *Section) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s. %s\n\n%s\n", s.ID, s.Title, s.How)
	for i := range s.Tables {
		b.WriteByte('\n')
		s.Tables[i].write(b)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Plots)) {
		fmt.Fprintf(b, "\n![%s](%s)\n", s.Title, name)
	}
	if len(s.Notes) > 0 {
		b.WriteByte('\n')
	}
	for _, note := range s.Notes {
		fmt.Fprintf(b, "- %s\n", note)
	}
}

func (t *Table) write(b *strings.Builder) {
	if t.Caption != "" {
		fmt.Fprintf(b, "%s\n\n", t.Caption)
	}
	cells := make([][]string, 0, len(t.Rows)+1)
	cells = append(cells, t.Columns)
	for _, row := range t.Rows {
		line := make([]string, len(t.Columns))
		for i := range line {
			if i < len(row) {
				line[i] = format(row[i])
			}
		}
		cells = append(cells, line)
	}
	widths := make([]int, len(t.Columns))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	for n, line := range cells {
		t.line(b, line, widths)
		if n == 0 {
			t.rule(b, widths)
		}
	}
}

func (t *Table) line(b *strings.Builder, cells []string, widths []int) {
	for i, cell := range cells {
		gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if t.numeric(i) {
			fmt.Fprintf(b, "| %s%s ", gap, cell)
		} else {
			fmt.Fprintf(b, "| %s%s ", cell, gap)
		}
	}
	b.WriteString("|\n")
}

func (t *Table) rule(b *strings.Builder, widths []int) {
	for i, width := range widths {
		if t.numeric(i) {
			fmt.Fprintf(b, "|-%s:", strings.Repeat("-", width))
		} else {
			fmt.Fprintf(b, "|-%s-", strings.Repeat("-", width))
		}
	}
	b.WriteString("|\n")
}

// numeric reports whether a column holds only numbers.
func (t *Table) numeric(column int) bool {
	found := false
	for _, row := range t.Rows {
		if column >= len(row) {
			continue
		}
		switch row[column].(type) {
		case nil:
		case int, float64:
			found = true
		default:
			return false
		}
	}
	return found
}

// format rounds to three significant digits, and to whole numbers above a hundred.
func format(cell any) string {
	switch v := cell.(type) {
	case nil:
		return "–"
	case int:
		return thousands(strconv.Itoa(v))
	case float64:
		switch size := math.Abs(v); {
		case size >= 99.95:
			return thousands(strconv.FormatFloat(v, 'f', 0, 64))
		case size >= 9.995:
			return strconv.FormatFloat(v, 'f', 1, 64)
		default:
			return strconv.FormatFloat(v, 'f', 2, 64)
		}
	default:
		return strings.ReplaceAll(fmt.Sprint(v), "|", "\\|")
	}
}

func thousands(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
