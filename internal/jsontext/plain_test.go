package jsontext

import (
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
