package spool

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
)

func TestFlushIntervalDefaultsToTheSpools(t *testing.T) {
	t.Parallel()
	s := &Spool{}
	assert.Equal(t, 50*time.Millisecond, s.behind(footfall.Config{}).FlushInterval)
	assert.Equal(t, time.Second, s.behind(footfall.Config{FlushInterval: time.Second}).FlushInterval)
}
