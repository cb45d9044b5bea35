package sqlite

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A report may read an older snapshot than another that runs at the same time.
func TestReadersOfTwoGenerationsShareNoText(t *testing.T) {
	t.Parallel()
	var cache texts
	read := func(generation int64) (string, []uint32) {
		of := map[uint32]string{7: "", 0: ""}
		missing := cache.known(generation, of)
		return of[7], missing
	}
	cache.remember(1, 7, "old")
	text, _ := read(1)
	assert.Equal(t, "old", text)
	_, missing := read(2)
	assert.Equal(t, []uint32{7}, missing)
	cache.remember(2, 7, "new")
	_, missing = read(1)
	assert.Equal(t, []uint32{7}, missing)
	cache.remember(1, 7, "old")
	text, _ = read(2)
	assert.Equal(t, "new", text)
}
