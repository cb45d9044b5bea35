package sqlite

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

func TestAURLIsPutTogetherFromItsParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, url, path, origin, rest string }{
		{"with a query", "https://s.example/a?b=/a", "/a", "https://s.example", "?b=/a"},
		{"with nothing after the path", "http://s:80/a/b", "/a/b", "http://s:80", ""},
		{"with a slash more than the path", "https://s.example/a/", "/a", "https://s.example", "/"},
		{"with a path that is escaped", "https://s.example/a%20b", "/a b", "", "https://s.example/a%20b"},
		{"without a path", "https://s.example", "/", "", "https://s.example"},
		{"with a path in its query only", "https://s.example?/a", "/a", "https://s.example?", ""},
		{"that is none", "mailto:x", "/", "", "mailto:x"},
		{"that is empty", "", "/", "", ""},
		{"of an event without a path", "https://s.example/", "", "", "https://s.example/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			origin, rest := splitURL(c.url, c.path)
			assert.Equal(t, c.origin, origin)
			assert.Equal(t, c.rest, rest)
			if origin != "" {
				assert.Equal(t, c.url, origin+c.path+rest)
			}
		})
	}
}

func TestColumnsAreUnpackedAsTheyWere(t *testing.T) {
	t.Parallel()
	set := string(encodeProps([]store.Prop{{Key: "k", Value: "v"}}).([]byte))
	want := columns{
		at:      times{-msPerDay, -msPerDay, -1},
		visitor: dictionary[uint64]{of: []uint32{1, 0, 2}, values: []uint64{0, 7, 1<<64 - 1}},
		props:   dictionary[string]{of: []uint32{0, 1, 0}, values: []string{"", set}},
	}
	for i := range want.texts {
		want.texts[i] = dictionary[uint32]{of: []uint32{1, 2, 0}, values: []uint32{0, 1<<32 - 1, 5}}
	}
	var got columns
	require.NoError(t, got.decode(at, -msPerDay, encodeTimes(want.at)))
	require.NoError(t, got.decode(visitor, 0, encodeNumbers(&want.visitor)))
	require.NoError(t, got.decode(props, 0, encodeSets(&want.props)))
	for i := range want.texts {
		require.NoError(t, got.decode(column(i), 0, encodeNumbers(&want.texts[i])))
	}
	assert.Equal(t, want, got)
	require.NoError(t, got.sameLength(every))
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
			for _, i := range all.of {
				got = append(got, all.values[i])
			}
			assert.Equal(t, []uint32{5, 0, 7, 0, 7, 8, 0}, got)
			assert.Equal(t, []uint32{1, 0, 2, 0}, all.of[:4], "0 is the index of the zero value")
		})
	}
}

// Decoding damaged data must neither panic nor allocate more than its size.
func FuzzUnpackingTakesAnyBytes(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3})
	f.Add([]byte{3, 1, 2, 3, 3, 0, 1, 2})
	f.Add([]byte{0, 1, 7}) // an index out of range
	f.Add(encodeProps([]store.Prop{{Key: "k", Value: "v"}, {Key: "n", Value: "1", Numeric: true}}).([]byte))
	f.Fuzz(func(_ *testing.T, data []byte) {
		var c columns
		_, _ = decodeProps(data)
		_, _, _ = decodeTotals(data)
		_ = newTops(store.Pages).merge([][]byte{data})
		_, _ = tallyIn(data, 1)
		_, _ = pairsOf(1, data)
		_, _ = mergePairs([][]byte{data, data}, 1)
		_ = eachText(data, func([]byte) {})
		_ = c.decode(at, 0, data)
		useIndexes(&c.visitor, c.decode(visitor, 0, data))
		useIndexes(&c.texts[path], c.decode(path, 0, data))
		useIndexes(&c.props, c.decode(props, 0, data))
	})
}

func useIndexes[V uint64 | uint32 | string](d *dictionary[V], err error) {
	if err == nil {
		for _, i := range d.of {
			_ = d.values[i]
		}
	}
}
