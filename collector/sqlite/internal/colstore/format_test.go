package colstore

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// The parts below are written by hand from the package's documentation. Released files have
// such parts, so they must not change.

// formatEvents are four events of the second day of 1970, as rows of the database: a pageview
// of a visitor, an event of a server, another pageview of the visitor, and another event.
func formatEvents(t *testing.T) *Columns {
	t.Helper()
	c := &Columns{}
	for column, values := range map[Column][]any{
		Path:     {int64(4), int64(12), int64(300), int64(12)},
		Referrer: {int64(9), int64(0), int64(0), int64(0)},
		Source:   {int64(0), int64(0), int64(2), int64(0)},
		Medium:   {int64(0), int64(0), int64(0), int64(0)},
		Campaign: {int64(0), int64(0), int64(0), int64(0)},
		Name:     {int64(0), int64(6), int64(0), int64(6)},
		Browser:  {int64(8), int64(0), int64(8), int64(0)},
		Device:   {int64(0), int64(0), int64(0), int64(0)},
		At:       {int64(MsPerDay + 5), int64(MsPerDay + 5), int64(MsPerDay + 305), int64(MsPerDay + 305)},
		Visitor:  {int64(7), int64(0), int64(7), int64(0)},
		Props: {
			nil, EncodeProps([]store.Prop{{Key: "plan", Value: "pro"}, {Key: "n", Value: "5", Numeric: true}}),
			nil, EncodeProps([]store.Prop{{Key: "plan", Value: "free"}}),
		},
	} {
		for _, value := range values {
			require.NoError(t, c.Dest(column).(interface{ Scan(any) error }).Scan(value))
		}
	}
	return c
}

func formatTexts(ids []uint32) (map[uint32]string, error) {
	all := map[uint32]string{0: "", 2: "mail", 4: "/cart", 6: "order", 8: "Firefox", 9: "news.example", 12: "/", 300: "/car/7"}
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
	0:  "04 00 0C AC02 04  04 03 01 02 01",                                             // path: "", "/", "/car/7", "/cart"
	1:  "02 00 09  04 01 00 00 00",                                                     // referrer
	2:  "02 00 02  04 00 00 01 00",                                                     // source
	3:  "01 00  04 00 00 00 00",                                                        // medium
	4:  "01 00  04 00 00 00 00",                                                        // campaign
	5:  "02 00 06  04 00 01 00 01",                                                     // name
	6:  "04 05 00 AC02 00",                                                             // time
	7:  "02 00 07  04 01 00 01 00",                                                     // visitor
	8:  "03 00 0D 08706C616E0370726F 036E0135 0A 08706C616E0466726565  04 00 01 00 02", // props
	9:  "02 00 08  04 01 00 01 00",                                                     // browser
	10: "01 00  04 00 00 00 00",                                                        // device
	20: "0000 00012F 01056361722F37 040174",                                            // texts of the paths
}

var formatRollup = map[int]string{
	0:  "01 02 02  01 02 02" + strings.Repeat(" 00 00 00", 23),                                        // totals
	1:  "06 22  00016E 000135 01 00 01  0004706C616E 000466726565 01 00 00  0400 000370726F 01 00 00", // props
	2:  "06 04  00  00 02 00",                                                                         // hours of events
	3:  "06 04  01  0C 02 00",                                                                         // pages of events
	10: "02  AC02 01 01  04 01 01",                                                                    // pages
	11: "02  00 01 01  09 01 01",                                                                      // referrers
	12: "01  02 01 01",                                                                                // sources
	13: "00",                                                                                          // mediums
	14: "00",                                                                                          // campaigns
	15: "01  06 02 00",                                                                                // names
	16: "01  08 02 01",                                                                                // browsers
	17: "00",                                                                                          // devices
	18: "01  0C 02 00",                                                                                // pages of events
	19: "00",                                                                                          // sources of events
	20: "00",                                                                                          // mediums of events
	21: "00",                                                                                          // campaigns of events
}

// The numbers of the format never change: a file with other numbers would be read wrongly.
func TestNumbersOfTheFormatAreThoseOfReleasedFiles(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []Column{6, 7, 8, 0, 1, 2, 3, 4, 5, 9, 10}, AllColumns())
	assert.Equal(t, []Column{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []Column{Path, Referrer, Source, Medium, Campaign, Name, At, Visitor, Props, Browser, Device})
	assert.Equal(t, 20, partPages)
	assert.Equal(t, []int{0, 1, 2, 3, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}, RollupParts())
	for by, part := range map[store.Dimension]int{
		store.Pages: 10, store.Referrers: 11, store.Sources: 12, store.Mediums: 13, store.Campaigns: 14, store.Names: 15,
		store.Browsers: 16, store.Devices: 17,
		store.EventPages: 18, store.EventSources: 19, store.EventMediums: 20, store.EventCampaigns: 21,
	} {
		got, ok := TopPart(by)
		assert.True(t, ok)
		assert.Equal(t, part, got)
	}
	for _, d := range store.Dimensions() {
		assert.Contains(t, RollupParts(), topParts[d], d)
		assert.Equal(t, string(d.Field), columnOf(d.Field).String())
	}
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
	assert.Equal(t, times{MsPerDay + 5, MsPerDay + 5, MsPerDay + 305, MsPerDay + 305}, read.at)
	again, err := read.EncodeSegment(formatTexts)
	require.NoError(t, err)
	assert.Equal(t, parts, again)
}

func TestARollupIsWrittenAsDocumented(t *testing.T) {
	t.Parallel()
	day := func(yield func(*Columns, error) bool) { yield(formatEvents(t), nil) }
	var totals Totals
	require.NoError(t, Count(day, &TotalsCounter{Hours: HoursOf(1), Each: totals.Set}))
	props, err := CountProps(t.Context(), day, everything, math.MaxInt)
	require.NoError(t, err)
	events := CountEvents(formatEvents(t), func(uint32) bool { return true })
	got := Parts{PartTotals: totals.Encode(), PartProps: encode(t, props), PartEventHours: events.EncodeHours()}
	got[PartEventPages], err = events.EncodePages(formatTexts)
	require.NoError(t, err)
	for _, d := range store.Dimensions() {
		table := NewTopTable(d)
		require.NoError(t, Count(day, table))
		got[topParts[d]], err = table.Encode(formatTexts)
		require.NoError(t, err)
	}
	assert.Equal(t, partsOf(t, formatRollup), got)
}

func TestARollupIsReadAsDocumented(t *testing.T) {
	t.Parallel()
	parts := partsOf(t, formatRollup)
	totals, err := DecodeTotals(parts[PartTotals])
	require.NoError(t, err)
	want := store.Totals{Visitors: 1, Pageviews: 2, Events: 2}
	assert.Equal(t, Totals{Day: want, Hours: [24]store.Totals{want}}, totals)
	assert.Equal(t, parts[PartTotals], totals.Encode())

	table, err := FindTable(parts[PartProps], 6)
	require.NoError(t, err)
	rows, err := MergePropTables(t.Context(), [][]byte{table}, 10)
	require.NoError(t, err)
	assert.Equal(t, []store.PropRow{
		{Key: "n", Row: store.Row{Value: "5", Count: 1}},
		{Key: "plan", Row: store.Row{Value: "free", Count: 1}},
		{Key: "plan", Row: store.Row{Value: "pro", Count: 1}},
	}, rows)

	table, err = FindTable(parts[PartEventHours], 6)
	require.NoError(t, err)
	hours, err := DecodeHours(table)
	require.NoError(t, err)
	assert.Equal(t, Totals{Day: store.Totals{Events: 2}, Hours: [24]store.Totals{{Events: 2}}}, hours)
	table, err = FindTable(parts[PartEventPages], 6)
	require.NoError(t, err)
	tally, err := FindTally(table, 12)
	require.NoError(t, err)
	assert.Equal(t, Tally{Count: 2}, tally)

	pages := parts[topParts[store.Pages]]
	tally, err = FindTally(pages, 300)
	require.NoError(t, err)
	assert.Equal(t, Tally{Count: 1, Visitors: 1}, tally)
	for _, d := range store.Dimensions() {
		top := NewTopTable(d)
		require.NoError(t, top.Merge([][]byte{parts[topParts[d]]}))
		again, err := top.Encode(formatTexts)
		require.NoError(t, err)
		assert.Equal(t, parts[topParts[d]], again)
	}
}

func TestRowsAreSortedByDescendingCountAndThenByValue(t *testing.T) {
	t.Parallel()
	days := []Parts{partsOf(t, formatRollup), partsOf(t, map[int]string{
		PartProps: "06 0E  0004706C616E 000370726F 01 00 00",
		10:        "03  0C 02 01  AC02 01 01  04 02 01",
	})}
	pages := NewTopTable(store.Pages)
	var props [][]byte
	for _, day := range days {
		require.NoError(t, pages.Merge([][]byte{day[topParts[store.Pages]]}))
		table, err := FindTable(day[PartProps], 6)
		require.NoError(t, err)
		props = append(props, table)
	}
	top, _, err := pages.Rows(&store.Question{Limit: 10}, nil, formatTexts)
	require.NoError(t, err)
	assert.Equal(t, []store.Row{{Value: "/cart", Count: 3, Visitors: 2}, {Value: "/", Count: 2, Visitors: 1}, {Value: "/car/7", Count: 2, Visitors: 2}}, top)
	rows, err := MergePropTables(t.Context(), props, 10)
	require.NoError(t, err)
	assert.Equal(t, []store.PropRow{
		{Key: "n", Row: store.Row{Value: "5", Count: 1}},
		{Key: "plan", Row: store.Row{Value: "pro", Count: 2}},
		{Key: "plan", Row: store.Row{Value: "free", Count: 1}},
	}, rows)
}
