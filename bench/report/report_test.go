//go:build ci

package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var example = Section{
	ID: "X", Title: "Nothing", How: "By looking.",
	Tables: []Table{{
		Caption: "What was seen",
		Columns: []string{"who", "ns", "lost", "remark"},
		Rows:    [][]any{{"one", 123.456, 0, "a|b"}, {"another", 1234567, nil, 7}, {"third", 9.876, 12, ""}},
	}},
	Notes: []string{"It was dark."},
}

func TestNumbersAreAlignedRightAndWordsLeft(t *testing.T) {
	assert.Equal(t, `
## X. Nothing

By looking.

What was seen

| who     |        ns | lost | remark |
|---------|----------:|-----:|--------|
| one     |       123 |    0 | a\|b   |
| another | 1,234,567 |    – | 7      |
| third   |      9.88 |   12 |        |

- It was dark.
`, example.Markdown())
}

func TestFiguresAreRoundedToThreeDigits(t *testing.T) {
	for cell, want := range map[any]string{
		0.0: "0.00", 0.004: "0.00", 0.456: "0.46", 9.99: "9.99", 9.999: "10.0", 12.34: "12.3", 99.94: "99.9", 99.96: "100",
		123.5: "124", 1234.0: "1,234", -1234.0: "-1,234", 999: "999", 1000000: "1,000,000",
	} {
		assert.Equal(t, want, format(cell), "%v", cell)
	}
}

func TestTheMedianIsTheMiddle(t *testing.T) {
	assert.Zero(t, Median(nil))
	assert.InDelta(t, 2, Median([]float64{9, 1, 2}), 0)
	assert.InDelta(t, 1.5, Median([]float64{9, 1, 2, 1}), 0)
}

func TestARunIsWrittenWithMachineVersionsAndPlots(t *testing.T) {
	results := New(5, []string{"github.com/stretchr/testify"})
	section := example
	section.Plots = map[string]string{"nothing.svg": "<svg/>"}
	results.Sections = []Section{section}
	dir := t.TempDir()
	require.NoError(t, results.Write(dir))

	var read Results
	encoded, err := os.ReadFile(filepath.Join(dir, "results.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(encoded, &read))
	assert.Equal(t, results.Machine, read.Machine)
	assert.NotEmpty(t, read.Machine.CPU)
	assert.Equal(t, results.Date, read.Date)
	require.Len(t, read.Sections, 1)
	assert.Equal(t, example.Tables[0].Columns, read.Sections[0].Tables[0].Columns)

	text, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	require.NoError(t, err)
	assert.Contains(t, string(text), read.Machine.CPU)
	assert.Contains(t, string(text), "![Nothing](nothing.svg)")
	assert.Contains(t, string(text), "| third   |")
	assert.FileExists(t, filepath.Join(dir, "nothing.svg"))
}
