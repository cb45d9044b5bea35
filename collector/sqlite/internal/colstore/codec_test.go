package colstore

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

func TestColumnsAreUnpackedAsTheyWere(t *testing.T) {
	t.Parallel()
	set := string(EncodeProps([]store.Prop{{Key: "k", Value: "v"}}))
	want := Columns{
		at:      times{-MsPerDay, -MsPerDay, -1},
		visitor: dictionary[uint64]{rows: []uint32{1, 0, 2}, values: []uint64{0, 7, 1<<64 - 1}},
		props:   dictionary[string]{rows: []uint32{0, 1, 0}, values: []string{"", set}},
	}
	for _, i := range textColumns {
		want.texts[i] = dictionary[uint32]{rows: []uint32{1, 2, 0}, values: []uint32{0, 1<<32 - 1, 5}}
	}
	var got Columns
	require.NoError(t, got.decode(At, -MsPerDay, encodeTimes(want.at)))
	require.NoError(t, got.decode(Visitor, 0, encodeNumbers(&want.visitor)))
	require.NoError(t, got.decode(Props, 0, encodeSets(&want.props)))
	for _, i := range textColumns {
		require.NoError(t, got.decode(i, 0, encodeNumbers(&want.texts[i])))
	}
	assert.Equal(t, want, got)
	require.NoError(t, got.sameLength(AllColumns()))
}

func TestTextsInOrderAreUnpackedAsTheyWere(t *testing.T) {
	t.Parallel()
	want := []string{"", "/a", "/a", "/ab/c", "/b", "\xff", "\xff\x00"}
	var got []string
	require.NoError(t, eachText(encodeTexts(want), func(text []byte) { got = append(got, string(text)) }))
	assert.Equal(t, want, got)
}

func TestJoinedColumnsHaveTheValuesOfBoth(t *testing.T) {
	t.Parallel()
	for name, join := range map[string]func(a, b *dictionary[uint32]){
		"each value as often as it was": (*dictionary[uint32]).join,
		"each value once":               (*dictionary[uint32]).joinOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all dictionary[uint32]
			for _, values := range [][]uint32{{}, {5, 0, 7}, {0}, {7, 8, 0}, {}} {
				var d dictionary[uint32]
				for _, v := range values {
					require.NoError(t, d.Scan(int64(v)))
				}
				join(&all, &d)
			}
			var got []uint32
			for _, i := range all.rows {
				got = append(got, all.values[i])
			}
			assert.Equal(t, []uint32{5, 0, 7, 0, 7, 8, 0}, got)
			assert.Equal(t, []uint32{1, 0, 2, 0}, all.rows[:4], "0 is the index of the zero value")
		})
	}
}

// Decoding damaged data must neither panic nor allocate more than its size.
func FuzzUnpackingTakesAnyBytes(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3})
	f.Add([]byte{3, 1, 2, 3, 3, 0, 1, 2})
	f.Add([]byte{0, 1, 7}) // an index out of range
	f.Add(EncodeProps([]store.Prop{{Key: "k", Value: "v"}, {Key: "n", Value: "1", Numeric: true}}))
	f.Fuzz(func(_ *testing.T, data []byte) {
		var c Columns
		_, _ = DecodeProps(data)
		_, _ = DecodeTotals(data)
		_ = NewTopTable(store.Pages).Merge([][]byte{data})
		_, _ = FindTally(data, 1)
		_, _ = FindTable(data, 1)
		_, _ = DecodeHours(data)
		_, _ = SumProps(context.Background(), [][]byte{data, data}, 1)
		_, _ = MergePropTables(context.Background(), [][]byte{data, data}, 1)
		_ = eachText(data, func([]byte) {})
		_ = c.decode(At, 0, data)
		useIndexes(&c.visitor, c.decode(Visitor, 0, data))
		useIndexes(&c.texts[Path], c.decode(Path, 0, data))
		useIndexes(&c.props, c.decode(Props, 0, data))
	})
}

func useIndexes[V uint64 | uint32 | string](d *dictionary[V], err error) {
	if err == nil {
		for _, i := range d.rows {
			_ = d.values[i]
		}
	}
}
