// Package spreadsheet guards texts in CSV files that spreadsheets open.
package spreadsheet

import (
	"strings"
	"unicode"
)

// A spreadsheet may read a cell as a formula that begins with one of formulaStarts, some in
// their full width (OWASP, CSV Injection). It may end a cell at one of cellEnds, also between
// quotation marks: many countries separate cells by semicolons.
const (
	formulaStarts = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
	cellEnds      = ";\t\r\n"
)

// invisible are the characters that a spreadsheet may drop before it looks for a formula: spaces
// such as U+00A0, controls, formats such as U+200B and U+FEFF, and others without a glyph.
var invisible = []*unicode.RangeTable{unicode.Z, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point}

// Guard puts an apostrophe before each formula, because anyone can choose event texts. The
// JSON export has the unchanged texts.
func Guard(cell string) string {
	var guarded strings.Builder
	begins := true
	for _, r := range cell {
		if begins && strings.ContainsRune(formulaStarts, r) {
			guarded.WriteByte('\'')
		}
		begins = strings.ContainsRune(cellEnds, r) || begins && (r == '"' || unicode.In(r, invisible...))
		guarded.WriteRune(r)
	}
	return guarded.String()
}
