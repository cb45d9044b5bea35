package sqlite

import (
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// A transaction reads segments one after the other, but to decode them takes longer. So a report
// reads ahead, and goroutines decode what it has read. The reports share as many goroutines as
// there are processors: a report that finds all in use decodes by itself.

// decoded is a segment's columns, or why there are none.
type decoded struct {
	columns *colstore.Columns
	err     error
}

// pending is a segment that was read.
type pending struct {
	segment
	result func() decoded
}

// decodeAhead yields the segments of the span in order, after work on each.
func (d *span) decodeAhead(all []segment, sel selection) iter.Seq2[segment, decoded] {
	return func(yield func(segment, decoded) bool) {
		var running sync.WaitGroup
		defer running.Wait()
		var ahead []pending
		next := func() bool {
			first := ahead[0]
			ahead = ahead[1:]
			return yield(first.segment, first.result())
		}
		for _, s := range all {
			if s.until <= d.from || s.first >= d.to {
				continue
			}
			ahead = append(ahead, pending{s, d.reader.start(&running, d.readSegment(s, sel))})
			if len(ahead) > cap(d.reader.decoding) && !next() {
				return
			}
		}
		for len(ahead) > 0 && next() {
		}
	}
}

// start starts decode in a goroutine, unless too many are in use. The function that it returns
// returns the result.
func (rd *reader) start(running *sync.WaitGroup, decode func() decoded) func() decoded {
	select {
	case rd.decoding <- struct{}{}:
	default:
		return decode
	}
	done := make(chan decoded, 1)
	running.Go(func() {
		defer func() { <-rd.decoding }()
		defer func() {
			if p := recover(); p != nil { // would end the process, unlike in a request's goroutine
				done <- decoded{nil, fmt.Errorf("decoding a segment: panic: %v\n%s", p, debug.Stack())}
			}
		}()
		done <- decode()
	})
	return func() decoded { return <-done }
}

// readSegment reads parts of a segment. The function that it returns decodes them, drops the rows
// outside of the span and those that the filter does not keep, and does the work.
func (d *span) readSegment(s segment, sel selection) func() decoded {
	cut := s.first < d.from || s.until > d.to
	if cut && !slices.Contains(sel.want, colstore.At) {
		sel.want = append([]colstore.Column{colstore.At}, sel.want...)
	}
	parts, err := d.segmentParts(s.id, colstore.SegmentParts(sel.want, sel.pages))
	return func() decoded {
		if err != nil {
			return decoded{nil, err}
		}
		c, err := d.decode(sel, parts)
		if err == nil && cut {
			c.Cut(d.from, d.to)
		}
		if err == nil {
			err = sel.work(c)
		}
		return decoded{c, err}
	}
}

// decode decodes parts of a segment, without the rows that the filter does not keep.
func (d *span) decode(sel selection, parts colstore.Parts) (*colstore.Columns, error) {
	if sel.filter == nil {
		return colstore.DecodeSegment(d.day, sel.want, parts)
	}
	return sel.filter.DecodeSegment(d.day, sel.want, parts, d.textsOf, sel.reached)
}
