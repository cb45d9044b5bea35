package jsontext

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIsPlainSeesEveryByteAtEveryPlace(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 26; n++ {
		for at := range n {
			for b := range 256 {
				s := strings.Repeat("a", at) + string([]byte{byte(b)}) + strings.Repeat("~", n-at-1)
				plain := b >= ' ' && b < 0x80 && !strings.ContainsRune(`"\@`, rune(b))
				require.Equal(t, plain, IsPlain(s), "%q", s)
			}
		}
	}
	assert.True(t, IsPlain(""))
}

func TestPutUintWritesDecimals(t *testing.T) {
	t.Parallel()
	for n := uint64(1); n < MaxPlain; n *= 10 {
		for _, m := range []uint64{n - 1, n, n + 1, 9 * n} {
			b := make([]byte, 20)
			assert.Equal(t, strconv.FormatUint(m, 10), string(b[:PutUint(b, m)]))
		}
	}
}
