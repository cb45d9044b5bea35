package colstore

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// The parts below are written by hand from the package's documentation. Released files have
// such parts, so they must not change.

// formatEvents are three events of the second day of 1970, as rows of the database: a pageview
// of a visitor, a server event, and another pageview of the visitor.
func formatEvents(t *testing.T) *Columns {
	t.Helper()
	c := &Columns{}
	for column, values := range map[Column][]any{
		Path:     {int64(4), int64(12), int64(300)},
		Referrer: {int64(9), int64(0), int64(0)},
		Source:   {int64(0), int64(0), int64(2)},
		Medium:   {int64(0), int64(0), int64(0)},
		Campaign: {int64(0), int64(0), int64(0)},
		Name:     {int64(0), int64(6), int64(0)},
		At:       {int64(MsPerDay + 5), int64(MsPerDay + 5), int64(MsPerDay + 305)},
		Visitor:  {int64(7), int64(0), int64(7)},
		Props:    {nil, EncodeProps([]store.Prop{{Key: "plan", Value: "pro"}, {Key: "n", Value: "5", Numeric: true}}), nil},
	} {
		for _, value := range values {
			require.NoError(t, c.Dest(column).(interface{ Scan(any) error }).Scan(value))
		}
	}
	return c
}

func formatTexts(ids []uint32) (map[uint32]string, error) {
	all := map[uint32]string{0: "", 2: "mail", 4: "/cart", 6: "order", 9: "news.example", 12: "/", 300: "/car/7"}
	textOf := make(map[uint32]string)
	for _, id := range ids {
		text, known := all[id]
		if !known {
			return nil, fmt.Errorf("no text %d", id)
		}
		textOf[id] = text
	}
	return textOf, nil
}

var formatSegment = map[int]string{
	0:  "04 00 0C AC02 04  03 03 01 02",                     // path: "", "/", "/car/7", "/cart"
	1:  "02 00 09  03 01 00 00",                             // referrer
	2:  "02 00 02  03 00 00 01",                             // source
	3:  "01 00  03 00 00 00",                                // medium
	4:  "01 00  03 00 00 00",                                // campaign
	5:  "02 00 06  03 00 01 00",                             // name
	6:  "03 05 00 AC02",                                     // time
	7:  "02 00 07  03 01 00 01",                             // visitor
	8:  "02 00 0D 08706C616E0370726F 036E0135  03 00 01 00", // props
	20: "0000 00012F 0105 6361722F37 040174",                // texts of the paths
}

var formatRollup = map[int]string{
	PartTotals: "01 02 01  01 02 01" + strings.Repeat(" 00 00 00", 23),
	PartProps:  "06 15  00016E 000135 01 00  0004706C616E 000370726F 01 00",

	PartTop + int(store.Pages):     "02  AC02 01 01  04 01 01",
	PartTop + int(store.Referrers): "02  00 01 01  09 01 01",
	PartTop + int(store.Sources):   "01  02 01 01",
	PartTop + int(store.Mediums):   "00",
	PartTop + int(store.Campaigns): "00",
	PartTop + int(store.Names):     "01  06 01 00",
}

func partsOf(t *testing.T, written map[int]string) Parts {
	t.Helper()
	parts := make(Parts)
	for part, text := range written {
		var err error
		parts[part], err = hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		require.NoError(t, err)
	}
	return parts
}

func TestASegmentIsWrittenAsDocumented(t *testing.T) {
	t.Parallel()
	got, err := formatEvents(t).EncodeSegment(formatTexts)
	require.NoError(t, err)
	assert.Equal(t, partsOf(t, formatSegment), got)
}

func TestASegmentThatIsReadAndWrittenAgainStaysTheSame(t *testing.T) {
	t.Parallel()
	parts := partsOf(t, formatSegment)
	read, err := DecodeSegment(1, AllColumns(), parts)
	require.NoError(t, err)
	assert.Equal(t, times{MsPerDay + 5, MsPerDay + 5, MsPerDay + 305}, read.at)
	again, err := read.EncodeSegment(formatTexts)
	require.NoError(t, err)
	assert.Equal(t, parts, again)
}

func TestARollupIsWrittenAsDocumented(t *testing.T) {
	t.Parallel()
	c := formatEvents(t)
	totals := c.Totals()
	props, err := CountProps(c, func(uint32) bool { return true })
	require.NoError(t, err)
	got := Parts{PartTotals: totals.Encode(), PartProps: props.Encode()}
	for by := range Dimensions {
		table := NewTopTable(store.Dimension(by))
		require.NoError(t, table.CountDay(func(yield func(*Columns, error) bool) { yield(formatEvents(t), nil) }))
		got[PartTop+by], err = table.Encode(formatTexts)
		require.NoError(t, err)
	}
	assert.Equal(t, partsOf(t, formatRollup), got)
}

func TestARollupIsReadAsDocumented(t *testing.T) {
	t.Parallel()
	parts := partsOf(t, formatRollup)
	totals, err := DecodeTotals(parts[PartTotals])
	require.NoError(t, err)
	want := store.Totals{Visitors: 1, Pageviews: 2, Events: 1}
	assert.Equal(t, Totals{Day: want, Hours: [24]store.Totals{want}}, totals)
	assert.Equal(t, parts[PartTotals], totals.Encode())

	table, err := FindPropTable(parts[PartProps], 6)
	require.NoError(t, err)
	rows, err := MergePropTables([][]byte{table}, 10)
	require.NoError(t, err)
	assert.Equal(t, []store.PropRow{{Key: "n", Row: store.Row{Value: "5", Count: 1}}, {Key: "plan", Row: store.Row{Value: "pro", Count: 1}}}, rows)

	pages := parts[PartTop+int(store.Pages)]
	tally, err := FindTally(pages, 300)
	require.NoError(t, err)
	assert.Equal(t, Tally{Count: 1, Visitors: 1}, tally)
	for by := range Dimensions {
		top := NewTopTable(store.Dimension(by))
		require.NoError(t, top.Merge([][]byte{parts[PartTop+by]}))
		again, err := top.Encode(formatTexts)
		require.NoError(t, err)
		assert.Equal(t, parts[PartTop+by], again)
	}
}
