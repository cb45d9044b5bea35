//go:build ci && linux

package faults

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/spool"
)

// source is a footfall.Store of records whose ids have times of a wrong clock.
type source struct {
	all int // number of records

	mu       sync.Mutex
	records  []footfall.Record
	outcomes map[footfall.EventID]footfall.Outcome
	moved    map[footfall.Outcome]int
	settled  chan struct{} // closed when each record has an outcome
	closing  chan struct{}
}

var _ footfall.Store = (*source)(nil)

// newSource has a record for each time, with numbers from 1.
func newSource(times ...time.Time) *source {
	s := &source{
		outcomes: make(map[footfall.EventID]footfall.Outcome), moved: make(map[footfall.Outcome]int),
		settled: make(chan struct{}), closing: make(chan struct{}),
	}
	for i, at := range times {
		id := footfall.EventID(uuid.New())
		binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16|0x7000)
		body := fmt.Sprintf(`{"site_id":%q,"name":"timed","url":"https://example.com/","props":{"n":%d}}`, footfalltest.SiteID, i+1)
		s.records = append(s.records, footfall.Record{ID: id, Body: []byte(body)})
	}
	s.all = len(s.records)
	return s
}

// Waiting implements footfall.Store.
func (s *source) Waiting() (n int, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closing:
		return len(s.records), len(s.records) > 0
	default:
		return len(s.records), true
	}
}

// Retry implements footfall.Store.
func (s *source) Retry(r footfall.Record, _ error) (footfall.Record, bool) { return r, true }

// Take implements footfall.Store.
func (s *source) Take(dst []footfall.Record) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := copy(dst, s.records)
	s.records = s.records[n:]
	return n
}

// Settle implements footfall.Store.
func (s *source) Settle(records []footfall.Record, o footfall.Outcome, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		s.outcomes[r.ID] = o
	}
	if len(records) > 0 && len(s.outcomes) == s.all {
		close(s.settled)
	}
}

// Moved implements footfall.MovedStore.
func (s *source) Moved(n int, o footfall.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved[o] += n
}

// deliverTimed stores a record for each time in a file while the API is down, and then
// delivers the file. It returns the numbers of the events in order of arrival, and the
// number of expired events.
func deliverTimed(t *testing.T, maxAge time.Duration, times ...time.Time) (came []int64, expired uint64) {
	t.Helper()
	dir, api := t.TempDir(), footfalltest.NewAPI(t)
	src := newSource(times...)
	first, end := deliver(t, dir, newDeadPort(t).URL, maxAge, src)
	<-src.settled
	end()
	for _, o := range src.outcomes {
		assert.Equal(t, footfall.OutcomeStored, o)
	}
	stored, end := deliver(t, dir, api.URL, maxAge, newSource())
	require.NoError(t, within(patience, stored.Flush))
	end()
	assert.Zero(t, first.Stats().Corrupt+stored.Stats().Corrupt)
	return arrivals(api), first.Stats().Expired + stored.Stats().Expired
}

// deliver runs a spool on a source until end is called.
func deliver(t *testing.T, dir, url string, maxAge time.Duration, src *source) (stored *spool.Spool, end func()) {
	t.Helper()
	cfg := wireConfig(url)
	cfg.MaxInFlight, cfg.AttemptTimeout = 1, patience // so that the order is exact: a retry would change it
	next, err := footfall.NewHTTPTransport(cfg)
	require.NoError(t, err)
	stored, err = spool.New(spool.Config{Dir: dir, Next: next, MaxAge: maxAge, Logger: cfg.Logger})
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	done := make(chan struct{})
	from := footfall.NewSource(src)
	from.Wake()
	go func() {
		defer close(done)
		stored.Deliver(ctx, from)
	}()
	return stored, func() {
		close(src.closing)
		from.Close()
		<-done
		stop()
	}
}

func TestAClockThatJumpsBackwardsNeitherLosesNorReordersEvents(t *testing.T) {
	t.Parallel()
	now := time.Now()
	came, expired := deliverTimed(t, 0,
		now, now.AddDate(10, 0, 0), now.Add(time.Hour), now.Add(-time.Hour), now.Add(time.Minute), now)
	assert.Equal(t, []int64{1, 2, 3, 4, 5, 6}, came)
	assert.Zero(t, expired)
}

func TestAClockThatIsWrongAtBootExpiresNothing(t *testing.T) {
	t.Parallel()
	now := time.Now()
	came, expired := deliverTimed(t, time.Hour,
		now.AddDate(1, 0, 0), now.Add(-2*time.Hour), now, time.UnixMilli(0), now.AddDate(74, 0, 0), now.Add(time.Minute))
	assert.Equal(t, []int64{1, 2, 3, 4, 5, 6}, came)
	assert.Zero(t, expired)
}

func TestAnOutageLongerThanMaxAgeExpiresEventsInSpiteOfAWrongClock(t *testing.T) {
	t.Parallel()
	now := time.Now()
	src := newSource(now.AddDate(1, 0, 0), now, time.UnixMilli(0), now.Add(-time.Hour))
	stored, end := deliver(t, t.TempDir(), newDeadPort(t).URL, 200*time.Millisecond, src)
	<-src.settled
	const waiting = 3 // and one in flight
	require.Eventually(t, func() bool { return stored.Stats().Expired >= waiting }, patience, 5*time.Millisecond)
	end()
	assert.Equal(t, uint64(4), stored.Stats().Expired+stored.Stats().Events)
	assert.Equal(t, map[footfall.Outcome]int{footfall.OutcomeLost: int(stored.Stats().Expired)}, src.moved, "the tracker is told")
}
