package spreadsheet

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFormulasAreGuardedWhereverASpreadsheetMayFindThem(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"":                     "",
		"a-b+c=d":              "a-b+c=d",
		"https://a.example/=":  "https://a.example/=",
		"=1+1":                 "'=1+1",
		" =1+1":                " '=1+1",
		`"=1+1`:                `"'=1+1`,
		"\uff1d1+1":            "'\uff1d1+1",
		"\uff0b1":              "'\uff0b1",
		"\n=1":                 "'\n'=1",
		"a;=1+1;b":             "a;'=1+1;b",
		"a; @SUM(A1)":          "a; '@SUM(A1)",
		"a\t-1":                "a\t'-1",
		"two\n+lines":          "two\n'+lines",
		"spring; -50 % on all": "spring; '-50 % on all",
	} {
		assert.Equal(t, want, Guard(cell), "%q", cell)
	}
}

func TestFormulasAreGuardedBehindInvisibleCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []rune{
		0x00, 0x0b, 0x0c, 0x85, 0xa0, 0xad, 0x034f, 0x061c, 0x1680, 0x180e, 0x2000, 0x200a, 0x200b, 0x200d, 0x200f, 0x2028, 0x2029,
		0x202e, 0x202f, 0x205f, 0x2060, 0x2066, 0x3000, 0x3164, 0xfe0f, 0xfeff, 0xffa0, 0xe0020,
	} {
		before := string(c)
		for _, start := range []string{"=", "+", "-", "@", "\uff1d"} {
			formula := start + "1+1"
			assert.Equal(t, before+"'"+formula, Guard(before+formula), "%U", c)
			assert.Equal(t, before+before+" '"+formula, Guard(before+before+" "+formula), "%U", c)
			assert.Equal(t, "a;"+before+"'"+formula, Guard("a;"+before+formula), "%U", c)
		}
		assert.Equal(t, before+"a=1", Guard(before+"a=1"), "%U", c)
		assert.Equal(t, "a"+before+"=1", Guard("a"+before+"=1"), "%U", c)
	}
}
