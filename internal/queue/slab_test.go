package queue

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slabTest uses the slabs of a shard like the queue.
type slabTest struct {
	*shard
	epoch *epoch
	added int
}

func newSlabTest(size int) *slabTest {
	return &slabTest{
		shard: &shard{clock: newClock(), spares: &spares{size: size}},
		epoch: &epoch{done: make(chan struct{})},
	}
}

// put adds an event of n bytes that begins with its number.
func (s *slabTest) put(n int) (body []byte) {
	body = make([]byte, n)
	binary.BigEndian.PutUint32(body, uint32(s.added))
	s.added++
	s.look()
	s.add(body, 0)
	s.look()
	return body
}

// look changes the shard like queue.look.
func (s *slabTest) look() {
	s.countAdded(s.epoch)
	s.rewind()
}

func (s *slabTest) take() item {
	s.oldest()
	return newItem(s.shard.takeOldest())
}

// settle settles a record like the queue, and reports whether it was held.
func (s *slabTest) settle(r item) bool {
	if !r.Ref.slab.has(r.Ref, r.Ref.slab.owner) {
		return false
	}
	r.Ref.slab.states[r.Ref.slot] = settled
	s.release(r.Ref.slab)
	return true
}

func (s *slabTest) inUse() (n int) {
	for at := s.first; at != nil; at = at.after {
		n++
	}
	return n
}

func TestSlabsReturnEventsInOrder(t *testing.T) {
	t.Parallel()
	s := newSlabTest(64)
	var bodies [][]byte
	for i := range 100 {
		bodies = append(bodies, s.put(4+i%30))
	}
	ids := make(map[uuid.UUID]bool)
	for i, body := range bodies {
		r := s.take()
		assert.Equal(t, body, r.Body, "event %d", i)
		ids[r.ID] = true
	}
	assert.Len(t, ids, 100)
}

func TestSlabRecordCannotGrowIntoItsNeighbour(t *testing.T) {
	t.Parallel()
	s := newSlabTest(64)
	s.put(8)
	second := s.put(8)
	r := s.take()
	assert.Equal(t, len(r.Body), cap(r.Body))
	_ = append(r.Body, "overwrites"...)
	assert.Equal(t, second, s.take().Body)
}

func TestSlabCopiesTheBody(t *testing.T) {
	t.Parallel()
	s := newSlabTest(64)
	body := s.put(8)
	body[7] = 'x' // the buffer goes back to Track's pool
	assert.Equal(t, make([]byte, 8), s.take().Body)
}

func TestSlabIsUsedAgainInPlaceWhenAllIsSettled(t *testing.T) {
	t.Parallel()
	s := newSlabTest(64)
	s.put(8)
	home := s.last
	for range 1000 {
		r := s.take()
		require.True(t, s.settle(r))
		s.put(8)
		require.Same(t, home, s.last)
	}
	assert.Equal(t, 1, s.inUse())
	assert.Zero(t, s.spares.n)
}

func TestSlabGoesToTheSparesOnceItsLastRecordIsSettled(t *testing.T) {
	t.Parallel()
	s := newSlabTest(16)
	for range 6 { // two in each of three slabs
		s.put(8)
	}
	require.Equal(t, 3, s.inUse())
	var taken []item
	for range 6 {
		taken = append(taken, s.take())
	}
	for i, want := range []int{0, 1, 1, 2, 2, 2} { // the open one is used in place
		require.True(t, s.settle(taken[i]))
		assert.Equal(t, want, s.spares.n, "spares after %d were settled", i+1)
	}
	for range 6 {
		s.put(8)
	}
	assert.Zero(t, s.spares.n, "spares are used before memory is taken")
	assert.Equal(t, 3, s.inUse())
}

func TestSlabSettledOutOfOrderIsNotUsedTooEarly(t *testing.T) {
	t.Parallel()
	s := newSlabTest(16)
	first := s.put(8)
	for range 5 {
		s.put(8)
	}
	slow := s.take()
	for range 5 {
		require.True(t, s.settle(s.take()))
	}
	for range 100 { // the others come and go around the slow one
		s.put(8)
		require.True(t, s.settle(s.take()))
	}
	assert.Equal(t, first, slow.Body, "a body is unchanging until its record is settled")
	assert.True(t, s.settle(slow))
}

func TestSlabNeverSettlesARecordTwice(t *testing.T) {
	t.Parallel()
	s := newSlabTest(16)
	s.put(8)
	s.put(8)
	first, second := s.take(), s.take()
	assert.True(t, s.settle(first))
	assert.False(t, s.settle(first), "twice")
	assert.True(t, s.settle(second))
	assert.False(t, s.settle(second), "after the slab was emptied")
	s.put(8)
	s.put(8)
	assert.False(t, s.settle(first), "after the slab was used again for others")
	assert.Equal(t, 2, s.last.live)
}

func TestSlabLetsGoOfEpochsWhenEmptied(t *testing.T) {
	t.Parallel()
	s := newSlabTest(16)
	s.put(8)
	home := s.last
	require.True(t, s.settle(s.take()))
	s.look()
	assert.Nil(t, home.runs[:1][0].epoch, "a spare slab would keep a chain of epochs alive")
}

func TestSlabsKeepABoundedNumberOfSpares(t *testing.T) {
	t.Parallel()
	s := newSlabTest(8)
	for range 3 * maxSpares {
		s.put(8)
	}
	for range 3 * maxSpares {
		require.True(t, s.settle(s.take()))
	}
	assert.Equal(t, maxSpares, s.spares.n)
	assert.Equal(t, 1, s.inUse())
}

func TestSlabTakesAnEventLargerThanItself(t *testing.T) {
	t.Parallel()
	s := newSlabTest(16)
	s.put(8)
	large := s.put(100)
	s.put(8)
	require.True(t, s.settle(s.take()))
	assert.Equal(t, large, s.take().Body)
	assert.Len(t, s.take().Body, 8)
}

// For every order of takes and settles, no event is lost, duplicated or changed while it lives,
// and no two live events share memory.
func TestSlabsHoldInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		t.Run("seed "+strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0))
			s := newSlabTest(64)
			live := make(map[uint32]item)
			waiting, next := 0, uint32(0)
			for range 5000 {
				switch n := random.IntN(5); {
				case n <= 1 && waiting+len(live) < 40:
					s.put(4 + random.IntN(40))
					waiting++
				case n == 2 && waiting > 0:
					r := s.take()
					require.Equal(t, next, binary.BigEndian.Uint32(r.Body), "oldest first")
					live[next] = r
					next++
					waiting--
				default:
					settleAny(t, s, live)
				}
			}
			assertApart(t, live)
		})
	}
}

func settleAny(t *testing.T, s *slabTest, live map[uint32]item) {
	t.Helper()
	for number, r := range live { // in an order that Go draws
		require.Equal(t, number, binary.BigEndian.Uint32(r.Body))
		require.True(t, s.settle(r))
		delete(live, number)
		return
	}
}

func assertApart(t *testing.T, live map[uint32]item) {
	t.Helper()
	seen := make(map[*byte]uint32)
	for number, r := range live {
		for i := range r.Body {
			at := unsafe.SliceData(r.Body[i:])
			other, taken := seen[at]
			require.False(t, taken, "events %d and %d share memory", number, other)
			seen[at] = number
		}
	}
}

// Not parallel: testing.AllocsPerRun counts the allocations of the whole process.
func TestSlabsInSteadyUseAllocateNothing(t *testing.T) {
	s := newSlabTest(1 << 10)
	body := make([]byte, 200)
	cycle := func() {
		s.look()
		for range 20 {
			s.add(body, 0)
		}
		s.look()
		for range 20 {
			r := s.take()
			r.Ref.slab.states[r.Ref.slot] = settled
			s.release(r.Ref.slab)
		}
	}
	cycle()
	cycle() // there are spares, and they have had epochs
	assert.Zero(t, testing.AllocsPerRun(1000, cycle))
}

// The holder of the queue's lock finds the slab full and all its events settled.
func TestSlabThatIsSettledBeforeTheNextIsBegunBecomesASpare(t *testing.T) {
	t.Parallel()
	s := newSlabTest(16)
	s.put(8)
	s.put(8)
	require.True(t, s.settle(s.take()))
	require.True(t, s.settle(s.take()))
	s.add(make([]byte, 8), 0) // before the queue counts
	s.countAdded(s.epoch)
	assert.Equal(t, 1, s.spares.n)
	assert.Equal(t, 1, s.inUse())
}

func TestSlabsTellEachEventItsOwnID(t *testing.T) {
	t.Parallel()
	s := newSlabTest(64)
	seen := make(map[uuid.UUID]bool)
	var last item
	before := time.Now().UnixMilli()
	for range 1000 {
		s.put(8)
		r := s.take()
		require.False(t, seen[r.ID], "in a slab, or in one that is used again")
		seen[r.ID] = true
		require.Equal(t, uuid.Version(7), r.ID.Version())
		require.NotEqual(t, last.ID, r.Ref.slab.id(r.Ref.slot))
		last = r
		require.Equal(t, r.ID, r.Ref.slab.id(r.Ref.slot), "the same each time it is asked for")
		require.True(t, s.settle(r))
	}
	ms := int64(binary.BigEndian.Uint64(last.ID[:8]) >> 16)
	assert.GreaterOrEqual(t, ms, before)
	assert.LessOrEqual(t, ms, time.Now().UnixMilli())
}

func TestSlabKnowsTheEpochOfEachEvent(t *testing.T) {
	t.Parallel()
	s := newSlabTest(1 << 10)
	var epochs []*epoch
	for i := range 60 {
		if i%7 == 0 {
			s.epoch = &epoch{done: make(chan struct{})}
		}
		epochs = append(epochs, s.epoch)
		s.put(8)
	}
	for i, want := range epochs {
		r := s.take()
		assert.Same(t, want, r.Ref.slab.epoch(r.Ref.slot), "event %d", i)
	}
}

func TestSlabOfALargeEventIsNotKept(t *testing.T) {
	t.Parallel()
	p := spares{size: 1 << 10}
	p.put(p.get(1 << 20))
	assert.Zero(t, p.n)
	p.put(p.get(1))
	assert.Equal(t, 1, p.n)
}
