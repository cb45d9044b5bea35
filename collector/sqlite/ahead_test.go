package sqlite

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

func TestReportsShareTheGoroutinesThatDecode(t *testing.T) {
	t.Parallel()
	s := &reader{decoding: make(chan struct{}, 2)}
	var running sync.WaitGroup
	begun, goOn := make(chan int, 3), make(chan struct{})
	var results []func() decoded
	for i := range 3 {
		results = append(results, s.start(&running, func() decoded {
			begun <- i
			<-goOn
			return decoded{err: errors.New(string(rune('a' + i)))}
		}))
	}
	assert.ElementsMatch(t, []int{0, 1}, []int{<-begun, <-begun})
	assert.Empty(t, begun, "a third waits until its result is needed")
	close(goOn)
	for i, result := range results {
		assert.EqualError(t, result().err, string(rune('a'+i)))
	}
	running.Wait()
	assert.Empty(t, s.decoding, "all are free again")
}

func TestAPanicOfADecoderIsAnError(t *testing.T) {
	t.Parallel()
	s := &reader{decoding: make(chan struct{}, 1)}
	var running sync.WaitGroup
	result := s.start(&running, func() decoded { var c *colstore.Columns; return decoded{nil, errors.New(string(rune(c.Len())))} })()
	running.Wait()
	assert.ErrorContains(t, result.err, "panic: runtime error")
	assert.ErrorContains(t, result.err, "ahead_test.go")
	assert.Empty(t, s.decoding)
}
