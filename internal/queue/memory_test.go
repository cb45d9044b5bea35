package queue

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// killed returns the events that are found in a copy of the memory.
func killed(memory []byte) (events map[uuid.UUID]string, damaged int) {
	events = make(map[uuid.UUID]string)
	damaged = ReadMemory(memory, func(id uuid.UUID, body []byte) {
		if _, twice := events[id]; twice {
			panic("an event was found twice")
		}
		events[id] = string(body)
	})
	return events, damaged
}

// randomBody returns a body of random size and content.
func randomBody(random *rand.Rand, most int) []byte {
	body := make([]byte, 1+random.IntN(most))
	for i := range body {
		body[i] = byte(random.Uint32())
	}
	return body
}

// memoryTest puts, takes, settles and gives back events, and knows which ones must be found.
type memoryTest struct {
	*shardTest
	random  *rand.Rand
	memory  []byte
	waiting map[string]bool // bodies that were not taken yet
	taken   []item
	kept    map[uuid.UUID]string // taken and not settled
	delayed int                  // bytes that were given back
}

func newMemoryTest(seed uint64) *memoryTest {
	m := &memoryTest{random: rand.New(rand.NewPCG(seed, 0)), waiting: make(map[string]bool), kept: make(map[uuid.UUID]string)}
	m.memory = make([]byte, 128*slabSize)
	m.shardTest = newShardTest(1+m.random.IntN(4), func(o *Options) { o.Memory, o.MaxBytes = m.memory, 1<<20 })
	return m
}

func (m *memoryTest) step(t *testing.T, number int) {
	switch m.random.IntN(5) {
	case 0, 1:
		body := strconv.AppendInt(randomBody(m.random, 1<<m.random.IntN(15)), int64(number), 10)
		if m.Put(&Hint{shard: m.random.IntN(len(m.shards))}, body, 0) == nil {
			m.waiting[string(body)] = true
		}
	case 2:
		some := make([]item, 1+m.random.IntN(8))
		for _, r := range some[:m.Take(some)] {
			delete(m.waiting, string(r.Body))
			m.taken = append(m.taken, r)
			m.kept[r.ID] = string(r.Body)
		}
	case 3:
		if len(m.taken) > 0 {
			r := m.leave()
			m.Settle([]item{r}, Delivered, nil)
		}
	default:
		if len(m.taken) > 0 && m.random.IntN(8) == 0 {
			r := m.leave()
			m.delayed += len(r.Body)
			_, ok := m.Retry(r.Ref, errors.New("not now"))
			require.True(t, ok)
		}
	}
}

// leave returns an event that leaves the memory.
func (m *memoryTest) leave() item {
	i := m.random.IntN(len(m.taken))
	r := m.taken[i]
	m.taken = append(m.taken[:i], m.taken[i+1:]...)
	delete(m.kept, r.ID)
	return r
}

// unsettled returns the bytes of the bodies that are not settled.
func (m *memoryTest) unsettled() uint64 {
	n := m.delayed
	for body := range m.waiting {
		n += len(body)
	}
	for _, body := range m.kept {
		n += len(body)
	}
	return uint64(n)
}

func TestMemoryHasEveryEventThatIsNotSettledAndNoOther(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run("seed "+strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			m := newMemoryTest(seed)
			for number := range 4000 {
				m.step(t, number)
				if number%331 != 0 {
					continue
				}
				found, damaged := killed(m.memory)
				require.Zero(t, damaged)
				for id, body := range m.kept {
					require.True(t, found[id] == body, "an event of %d bytes that was taken is found with its id", len(body))
					delete(found, id)
				}
				waiting := maps.Clone(m.waiting)
				for _, body := range found {
					require.True(t, waiting[body], "settled, or never accepted")
					delete(waiting, body)
				}
				require.Zero(t, len(waiting), "waiting events are found")
				require.Equal(t, m.unsettled(), m.Counters().QueuedBytes, "bodies count, their headers do not")
			}
			for s := range m.shards {
				assert.True(t, m.shards[s].last == nil || m.shards[s].last.mapped, "the memory was enough")
			}
		})
	}
}

// filled returns a memory of two slabs with events.
func filled(random *rand.Rand) (memory []byte, events map[uuid.UUID]string) {
	memory = make([]byte, 2*slabSize)
	q := newShardTest(1, func(o *Options) { o.Memory = memory })
	for range 700 {
		if q.Put(&Hint{}, randomBody(random, 250), 0) != nil {
			panic("full")
		}
	}
	events, _ = killed(memory)
	return memory, events
}

func TestAFlippedBitInMemoryChangesNoEventAndCostsNoOther(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	memory, events := filled(random)
	require.Len(t, events, 700)
	one := make([]byte, len(memory))
	for range 1500 {
		copy(one, memory)
		at := random.IntN(len(one))
		if random.IntN(4) == 0 {
			at = random.IntN(2)*slabSize + random.IntN(slabHeader)
		}
		one[at] ^= 1 << random.IntN(8)
		found, damaged := killed(one)
		for id, body := range found {
			require.True(t, events[id] == body, "byte %d", at)
		}
		if at%slabSize < slabHeader {
			require.Equal(t, 1, damaged, "byte %d", at)
			continue
		}
		require.GreaterOrEqual(t, len(found), 699, "byte %d", at)
		require.LessOrEqual(t, damaged, 700-len(found), "byte %d", at)
	}
}

func TestADamagedEventInMemoryIsCounted(t *testing.T) {
	t.Parallel()
	memory, events := filled(rand.New(rand.NewPCG(3, 3)))
	for _, at := range []int{0, 8, 16, 17, 20, bodyHeader} { // of the second event
		one := bytes.Clone(memory)
		second := slabHeader + bodyHeader + int(one[slabHeader+16])
		one[second+at] ^= 0x40
		found, damaged := killed(one)
		assert.Len(t, found, len(events)-1, "byte %d", at)
		assert.Equal(t, 1, damaged, "byte %d", at)
	}
}

// A kill leaves the writes of an event up to some instruction, a power failure leaves any of them.
func TestAnEventThatWasWrittenInPartIsNoEvent(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 4))
	for range 300 {
		memory := make([]byte, slabSize)
		q := newShardTest(1, func(o *Options) { o.Memory = memory })
		useAgain(t, q, random)
		for range random.IntN(4) {
			require.NoError(t, q.Put(&Hint{}, randomBody(random, 300), 0))
		}
		before := bytes.Clone(memory)
		known, _ := killed(before)
		require.NoError(t, q.Put(&Hint{}, randomBody(random, 300), 0))
		whole, _ := killed(memory)
		for at := range before {
			if before[at] != memory[at] && random.IntN(2) == 0 {
				before[at] = memory[at]
			}
		}
		found, _ := killed(before)
		for id, body := range found {
			require.Equal(t, whole[id], body)
		}
		if len(known) > 0 {
			require.Subset(t, keys(found), keys(known), "the events before it are there")
		}
	}
}

// useAgain makes the slab hold the remains of other events.
func useAgain(t *testing.T, q *shardTest, random *rand.Rand) {
	t.Helper()
	for range 20 {
		require.NoError(t, q.Put(&Hint{}, randomBody(random, 300), 0))
	}
	q.Counters() // counts what was added
	some := make([]item, 20)
	require.Equal(t, 20, q.Take(some))
	q.Settle(some, Delivered, nil)
	q.Counters() // starts the slab from its beginning
}

func keys(events map[uuid.UUID]string) []uuid.UUID {
	return slices.Collect(maps.Keys(events))
}

func TestTheRemainsOfOlderEventsAreNoEvents(t *testing.T) {
	t.Parallel()
	s := &slab{mem: make([]byte, slabSize), mapped: true, seed: 1}
	end, ok := s.write(0, slabHeader, 100, []byte("new"))
	require.True(t, ok)
	end, ok = s.write(1, end, 99, []byte("older, with a checksum that matches by chance"))
	require.True(t, ok)
	_, ok = s.write(0, end, 101, []byte("of a slot before it"))
	require.True(t, ok)
	found, _ := killed(s.mem)
	assert.Equal(t, []string{"new"}, slices.Collect(maps.Values(found)))
}

func TestMemoryThatIsCutOffHasTheEventsBeforeTheEnd(t *testing.T) {
	t.Parallel()
	memory, events := filled(rand.New(rand.NewPCG(5, 5)))
	last := 0
	for size := 0; size <= len(memory); size += 211 {
		found, damaged := killed(memory[:size])
		require.Zero(t, damaged)
		require.GreaterOrEqual(t, len(found), last)
		for id, body := range found {
			require.Equal(t, events[id], body)
		}
		last = len(found)
	}
	assert.Greater(t, last, 600)
}

func TestMemoryOfSomethingElseHasNoEvents(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(6, 6))
	for range 100 {
		memory := randomBody(random, 3*slabSize)
		if random.IntN(2) == 0 && len(memory) > slabHeader { // with a plausible header
			writer := &slab{mem: memory, mapped: true, seed: random.Uint64()}
			writer.writeHeader()
		}
		found, _ := killed(memory)
		require.Empty(t, found)
	}
	found, damaged := killed(make([]byte, 3*slabSize))
	assert.Empty(t, found)
	assert.Zero(t, damaged)
}

func TestEventsThatDoNotFitInMemoryAreOnTheHeap(t *testing.T) {
	t.Parallel()
	memory := make([]byte, slabSize)
	q := newShardTest(1, func(o *Options) { o.Memory = memory })
	random := rand.New(rand.NewPCG(7, 7))
	large := randomBody(random, 1)
	large = append(large, make([]byte, slabSize)...)
	accepted := 0
	for range 4 {
		require.NoError(t, q.Put(&Hint{}, large, 0))
		for range 400 {
			require.NoError(t, q.Put(&Hint{}, randomBody(random, 300), 0))
		}
		accepted += 401
	}
	q.Counters() // counts what was added
	some := make([]item, accepted)
	require.Equal(t, accepted, q.Take(some))
	q.Settle(some, Delivered, nil)
	assert.Equal(t, uint64(accepted), q.Counters().Delivered)
	found, damaged := killed(memory)
	assert.Empty(t, found, "all are settled")
	assert.Zero(t, damaged)
	require.NoError(t, q.Put(&Hint{}, large, 0))
	require.NoError(t, q.Put(&Hint{}, []byte("small"), 0))
	found, _ = killed(memory)
	assert.Len(t, found, 1, "the memory is used again")
}

func TestPutAllocatesNothingWithMemory(t *testing.T) {
	memory := make([]byte, 64*slabSize)
	q := newShardTest(1, func(o *Options) { o.Memory, o.MaxEvents = memory, 1<<20 })
	body := randomBody(rand.New(rand.NewPCG(8, 8)), 200)
	some := make([]item, 6000)
	h := &Hint{}
	for range 6000 {
		require.NoError(t, q.Put(h, body, 0))
	}
	q.Counters() // counts what was added
	q.Settle(some[:q.Take(some)], Delivered, nil)
	assert.Zero(t, testing.AllocsPerRun(5000, func() { _ = q.Put(h, body, 0) }))
}

func TestMemorySizeIsEnoughForAFullQueue(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 100, 200, 1000, 5000, 11 << 10, 21 << 10} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			o := Options{MaxEvents: 50_000, MaxBytes: 16 << 20}
			q := newShardTest(8, func(to *Options) { to.Memory = make([]byte, MemorySize(o.MaxEvents, o.MaxBytes)) })
			body := make([]byte, size)
			for n := 0; q.Put(&Hint{shard: n % 8}, body, 0) == nil; n++ {
			}
			for _, sh := range q.shards {
				for s := sh.first; s != nil; s = s.after {
					require.True(t, s.mapped)
				}
			}
		})
	}
}
