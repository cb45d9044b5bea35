package spool

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// original is a file of events. Some of its events were removed again.
type original struct {
	data   []byte
	size   int                 // of a page
	stored map[uint64][]byte   // bodies of all events that the file ever had
	live   map[uint64]int      // pages of the events that it has
	pages  map[string][]extent // by kind
}

// extent is a page with its overflow pages.
type extent struct{ id, n int }

func newOriginal(t *testing.T) *original {
	t.Helper()
	o := &original{size: os.Getpagesize(), stored: map[uint64][]byte{}, live: map[uint64]int{}, pages: map[string][]extent{}}
	path := filepath.Join(t.TempDir(), "events-0.db")
	s, err := openStore(path, contents{})
	require.NoError(t, err)
	for key := uint64(1); key <= 1000; {
		c := change{clock: time.Duration(key)}
		for range 100 {
			size := 150
			if key%40 == 0 {
				size = int(key) * 20 // in overflow pages
			}
			o.stored[key] = bytes.Repeat(fmt.Appendf(nil, "event %d;", key), 1+size/10)
			c.add(appendKey(nil, key), encode(nil, key, 1, 0, &footfall.Record{Body: o.stored[key]}))
			key++
		}
		if key > 1000 { // free pages keep some removed events, and the older meta page has no new ones
			for gone := uint64(100); gone < 500; gone++ {
				c.remove = append(c.remove, gone)
			}
			require.NoError(t, s.commit(&change{remove: c.remove}))
		}
		require.NoError(t, s.commit(&c))
	}
	s.close()
	o.data, err = os.ReadFile(path)
	require.NoError(t, err)
	o.findPages()
	for key := uint64(1); key <= 1000; key++ {
		if key >= 100 && key < 500 {
			continue
		}
		page := slices.IndexFunc(o.pages["leaf"], func(p extent) bool { return bytes.Contains(o.bytes(p), o.stored[key]) })
		require.GreaterOrEqual(t, page, 0)
		o.live[key] = o.pages["leaf"][page].id
	}
	require.True(t, slices.ContainsFunc(o.pages["free"], func(p extent) bool { return bytes.Contains(o.bytes(p), []byte("event 2")) }))
	for _, kind := range []string{"meta", "list of free pages", "branch", "leaf", "overflow", "free"} {
		require.NotEmpty(t, o.pages[kind], kind)
	}
	return o
}

func (o *original) bytes(p extent) []byte { return o.data[p.id*o.size : (p.id+p.n)*o.size] }

// findPages finds the pages of each kind with the walker's mark of those in the tree.
func (o *original) findPages() {
	w := &walker{file: bytes.NewReader(o.data), visit: func(_, _ []byte, _ record, _ error) error { return nil }}
	w.findMeta()
	w.seen, w.walked = make([]bool, w.meta.End), make([]bool, w.meta.End)
	w.page(w.meta.Root, 0, none)
	o.pages["meta"] = []extent{{0, 1}, {1, 1}}
	for id, n := 2, 0; id < len(w.seen); id += n {
		n = 1 + int(native.Uint32(o.data[id*o.size+12:]))
		kind := "leaf"
		switch {
		case id == int(w.meta.Freelist):
			kind = "list of free pages"
		case !w.seen[id]:
			kind, n = "free", 1
		case native.Uint16(o.data[id*o.size+8:]) == branchPage:
			kind = "branch"
		}
		o.pages[kind] = append(o.pages[kind], extent{id, n})
		if kind == "leaf" && n > 1 {
			o.pages["overflow"] = append(o.pages["overflow"], extent{id, n})
		}
	}
}

// damages changes a page p of data. from is the bytes of another page.
var damages = map[string]func(r *rand.Rand, data, p, from []byte) []byte{
	"flipped bit in the header": func(r *rand.Rand, data, p, _ []byte) []byte { flip(r, p[:pageHeader+metaSize]); return data },
	"flipped bits": func(r *rand.Rand, data, p, _ []byte) []byte {
		for range 1 + r.IntN(20) {
			flip(r, p)
		}
		return data
	},
	"zeros":       func(_ *rand.Rand, data, p, _ []byte) []byte { clear(p); return data },
	"torn write":  func(r *rand.Rand, data, p, from []byte) []byte { copy(p[len(p)/2:], from); return data },
	"other page":  func(_ *rand.Rand, data, p, from []byte) []byte { copy(p, from); return data },
	"misdirected": func(_ *rand.Rand, data, p, from []byte) []byte { copy(p[8:], from[8:]); return data },
	"random bytes": func(r *rand.Rand, data, p, _ []byte) []byte {
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		return data
	},
	"cut": func(r *rand.Rand, data, p, _ []byte) []byte { return data[:cap(data)-cap(p)+r.IntN(len(p))] },
}

func flip(r *rand.Rand, p []byte) { p[r.IntN(len(p))] ^= 1 << r.IntN(8) }

func TestADamagedPageCostsOnlyItsOwnEvents(t *testing.T) {
	t.Parallel()
	o := newOriginal(t)
	seeds := uint64(12)
	if testing.Short() {
		seeds = 2
	}
	for _, kind := range slices.Sorted(maps.Keys(o.pages)) {
		for _, damage := range slices.Sorted(maps.Keys(damages)) {
			t.Run(kind+", "+damage, func(t *testing.T) {
				t.Parallel()
				for seed := range seeds {
					o.survives(t, kind, damage, seed)
				}
			})
		}
	}
}

// survives damages one page of a copy of the file, opens it, and writes to it.
func (o *original) survives(t *testing.T, kind, damage string, seed uint64) {
	t.Helper()
	what := fmt.Sprintf("%s, %s, seed %d", kind, damage, seed)
	watchdog := time.AfterFunc(time.Minute, func() { panic(what + " hangs") })
	defer watchdog.Stop()
	r := rand.New(rand.NewPCG(seed, 1))
	page := o.pages[kind][r.IntN(len(o.pages[kind]))]
	data := slices.Clip(bytes.Clone(o.data))
	others := slices.Concat(o.pages["leaf"], o.pages["branch"])
	other := others[r.IntN(len(others))]
	data = damages[damage](r, data, data[page.id*o.size:][:page.n*o.size], o.bytes(other))
	path := filepath.Join(t.TempDir(), "events-0.db")
	require.NoError(t, os.WriteFile(path, data, 0o600))

	s, found, err := openClaimed(&claim{path, flock.New(lockPath(path))}, nothing(1), slog.New(slog.DiscardHandler))
	require.NoError(t, err, what)
	defer func() { s.close() }()
	got := o.read(t, s, what)
	require.Len(t, got, found.events, what)
	missing := 0
	for key, at := range o.live {
		if got[key] == nil {
			missing++
			own := at >= page.id && at < page.id+page.n
			// The older meta page lacks the last transaction, and a correct page that replaces a
			// branch hides the pages below it.
			require.True(t, own || damage == "cut" || damage == "misdirected" || kind == "meta",
				"%s: event %d of page %d is lost, and page %d was damaged", what, key, at, page.id)
		}
	}
	for key := range got {
		_, ok := o.live[key]
		require.True(t, ok || kind == "branch", "%s: event %d was removed", what, key) // a branch may refer to a free page
	}
	if asides, _ := filepath.Glob(path + ".corrupt-*"); missing > 0 || len(asides) > 0 {
		require.Len(t, asides, 1, what)
		kept, err := os.ReadFile(asides[0])
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, kept), what)
	}
	o.change(t, s, got, what)
	s.close()
	_, err = inspect(path, nothing(1))
	require.NoError(t, err, what)
}

// change removes and adds events, and checks that all others are still there.
func (o *original) change(t *testing.T, s *store, got map[uint64][]byte, what string) {
	t.Helper()
	for round := range uint64(4) {
		var c change
		for key := range o.stored {
			if key%5 == round {
				c.remove = append(c.remove, key)
				delete(got, key)
			}
		}
		for i := range uint64(20) {
			key := 10_000 + 100*round + i
			o := footfall.Record{Body: bytes.Repeat([]byte{'n'}, 300)}
			c.add(appendKey(nil, key), encode(nil, key, 1, 0, &o))
			got[key] = o.Body
		}
		require.NoError(t, s.commit(&c), what)
	}
	after := map[uint64][]byte{}
	_, err := s.read(0, func(k, v []byte) error {
		rec, err := decode(k, v)
		after[rec.key] = bytes.Clone(rec.rec.Body)
		return err
	})
	require.NoError(t, err, what)
	require.Equal(t, len(got), len(after), what)
	for key, body := range got {
		require.True(t, bytes.Equal(body, after[key]), "%s: event %d after changes", what, key)
	}
}

// read returns the events of a file. Each must have the body that it had at first.
func (o *original) read(t *testing.T, s *store, what string) map[uint64][]byte {
	t.Helper()
	got := map[uint64][]byte{}
	_, err := s.read(0, func(k, v []byte) error {
		rec, err := decode(k, v)
		require.NoError(t, err, what)
		require.True(t, bytes.Equal(o.stored[rec.key], rec.rec.Body), "%s: event %d", what, rec.key)
		got[rec.key] = o.stored[rec.key]
		return nil
	})
	require.NoError(t, err, what)
	return got
}
