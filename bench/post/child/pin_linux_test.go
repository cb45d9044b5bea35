//go:build ci

package child

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func TestCoresAreCountedAmongTheAllowedOnes(t *testing.T) {
	var allowed unix.CPUSet
	allowed.Set(3)
	allowed.Set(70)
	assert.Equal(t, 3, nth(&allowed, 0))
	assert.Equal(t, 70, nth(&allowed, 1))
	assert.Equal(t, -1, nth(&allowed, 2))
}
