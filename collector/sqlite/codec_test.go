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

func TestAColumnOfADayIsUnpackedAsItWas(t *testing.T) {
	t.Parallel()
	c := columns{at: times{-msPerDay, -msPerDay, -1}}
	set := string(encodeProps([]store.Prop{{Key: "k", Value: "v"}}).([]byte))
	for i, v := range []uint64{7, 0, 1<<64 - 1} {
		c.visitor.add(v)
		c.props.add([]string{"", set, ""}[i])
		c.name, c.path = append(c.name, uint32(i)), append(c.path, 1<<32-1)
	}
	parts, err := c.parts()
	require.NoError(t, err)
	var got columns
	require.NoError(t, got.decodeTimes(-1, parts[partAt]))
	require.NoError(t, got.decodeVisitors(parts[partVisitor]))
	require.NoError(t, got.decodeSets(parts[partSets]))
	require.NoError(t, decodeIDs(&got.name, parts[partName]))
	require.NoError(t, decodeIDs(&got.path, parts[partPath]))
	assert.Equal(t, c.at, got.at)
	assert.Equal(t, []uint64{0, 7, 1<<64 - 1}, got.visitor.values)
	assert.Equal(t, []uint32{1, 0, 2}, got.visitor.of)
	assert.Equal(t, c.name, got.name)
	assert.Equal(t, c.path, got.path)
	assert.Equal(t, c.props.of, got.props.of)
	assert.Equal(t, []string{"", set}, got.props.values)
}

// What lies in a file may be damaged: unpacking it must neither panic nor take memory
// beyond its size.
func FuzzUnpackingTakesAnyBytes(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3})
	f.Add([]byte{3, 1, 2, 3, 3, 0, 1, 2})
	f.Add([]byte{0, 1, 7}) // an index into nothing
	f.Add(encodeProps([]store.Prop{{Key: "k", Value: "v"}, {Key: "n", Value: "1", Numeric: true}}).([]byte))
	f.Fuzz(func(_ *testing.T, data []byte) {
		var c columns
		_, _ = decodeProps(data)
		_, _, _ = decodeTotals(data)
		_ = mergeTop(make(map[uint32]tally), data)
		_ = mergePairs(newPairs(), 1, data)
		_ = c.decodeTimes(0, data)
		_ = decodeIDs(&c.name, data)
		if c.decodeVisitors(data) == nil {
			for _, i := range c.visitor.of {
				_ = c.visitor.values[i]
			}
		}
		if c.decodeSets(data) == nil {
			for _, i := range c.props.of {
				_ = c.props.values[i]
			}
		}
	})
}
