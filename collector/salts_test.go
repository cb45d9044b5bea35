package collector

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// view sends a pageview from an address.
func (s *service) view(addr, userAgent string) int {
	r := httptest.NewRequest("POST", "/e", strings.NewReader(pageview))
	r.RemoteAddr = addr + ":1234"
	r.Header.Set("Content-Type", "text/plain")
	r.Header.Set("User-Agent", userAgent)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code
}

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func saltsIn(t *testing.T, st store.Store) map[string]string {
	t.Helper()
	records, err := st.Records(t.Context(), kindSalt)
	require.NoError(t, err)
	all := make(map[string]string)
	for _, r := range records {
		all[r.ID] = string(r.Data)
	}
	return all
}

func visitorsOf(events []store.Event) map[uint64]int {
	all := make(map[uint64]int)
	for _, e := range events {
		all[e.Visitor]++
	}
	return all
}

func TestVisitorIsSiteAddressAndUserAgent(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{})
	for _, from := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2"} {
		require.Equal(t, 202, s.view(from, firefox))
		require.Equal(t, 202, s.view(from, firefox+" x"))
	}
	visitors := visitorsOf(s.stored(t))
	assert.Len(t, visitors, 4)
	assert.NotContains(t, visitors, uint64(0))

	var salt [saltSize]byte
	addr := netip.MustParseAddr("192.0.2.1")
	assert.Equal(t, visitorOf(&salt, "a", addr, "b"), visitorOf(&salt, "a", netip.MustParseAddr("::ffff:192.0.2.1"), "b"))
	assert.NotEqual(t, visitorOf(&salt, "a", addr, "b"), visitorOf(&salt, "b", addr, "b"))
	assert.NotEqual(t, visitorOf(&salt, "a", addr, "b"), visitorOf(&[saltSize]byte{1}, "a", addr, "b"))
}

func TestSaltIsDestroyedWhenItsDayIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := storetest.NewReference()
		s := prepare(t, Config{Store: st})
		require.Equal(t, 202, s.view("192.0.2.1", firefox))
		first := saltsIn(t, st)
		require.Len(t, first, 1)
		s.salts.mu.Lock()
		inMemory := s.salts.salt
		s.salts.mu.Unlock()

		time.Sleep(24*time.Hour + choreEvery) // nobody visits
		synctest.Wait()
		second := saltsIn(t, st)
		require.Len(t, second, 1)
		for day, salt := range first {
			assert.NotContains(t, second, day)
			for _, other := range second {
				assert.NotEqual(t, salt, other)
			}
		}
		s.salts.mu.Lock()
		assert.Equal(t, make([]byte, saltSize), inMemory, "nor in memory")
		s.salts.mu.Unlock()

		require.Equal(t, 202, s.view("192.0.2.1", firefox))
		assert.Len(t, visitorsOf(s.stored(t)), 2, "the same browser is another visitor the next day")
	})
}

func TestFirstEventOfADayDestroysTheSaltOfTheLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := storetest.NewReference()
		s := salts{store: st} // without chores
		one, _, err := s.today(t.Context())
		require.NoError(t, err)
		time.Sleep(24 * time.Hour)
		two, at, err := s.today(t.Context())
		require.NoError(t, err)
		assert.NotEqual(t, one, two)
		assert.Equal(t, map[string]string{at.Format(time.DateOnly): string(two[:])}, saltsIn(t, st))
	})
}

func TestRestartKeepsTodaysSaltAndNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := storetest.NewReference()
		s := prepare(t, Config{Store: st})
		require.Equal(t, 202, s.view("192.0.2.1", firefox))
		require.NoError(t, st.Put(t.Context(), kindSalt, store.Record{ID: "1999-12-30", Data: make([]byte, saltSize)}))
		again := prepare(t, Config{Store: st})
		require.Equal(t, 202, again.view("192.0.2.1", firefox))
		assert.Len(t, visitorsOf(s.stored(t)), 1)
		assert.Len(t, saltsIn(t, st), 1)
	})
}

// removing is a store whose Remove fails while stuck.
type removing struct {
	store.Store
	stuck *bool
}

func (r removing) Remove(ctx context.Context, kind, id string) error {
	if *r.stuck {
		return store.ErrClosed
	}
	return r.Store.Remove(ctx, kind, id)
}

func TestNoNewSaltWhileTheOldOneIsStillThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := false
		s := salts{store: removing{storetest.NewReference(), &stuck}}
		_, _, err := s.today(t.Context())
		require.NoError(t, err)
		stuck = true
		time.Sleep(24 * time.Hour)
		_, _, err = s.today(t.Context())
		require.Error(t, err)
		stuck = false
		_, _, err = s.today(t.Context())
		require.NoError(t, err)
		assert.Len(t, saltsIn(t, s.store), 1)
	})
}

// capturing keeps all that is written to a store.
type capturing struct {
	store.Store
	seen *bytes.Buffer
}

func (c capturing) Put(ctx context.Context, kind string, r store.Record) error {
	c.seen.WriteString(kind + r.ID + string(r.Data))
	return c.Store.Put(ctx, kind, r)
}

func TestAddressIsNeitherStoredNorLogged(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	s := prepare(t, Config{Store: capturing{storetest.NewReference(), &written}, Logger: textLogger(&written)})
	require.Equal(t, 202, s.view("192.0.2.123", firefox))
	s.store = adding{s.store, func(context.Context, store.Event) error { return store.ErrClosed }}
	require.Equal(t, 503, s.view("192.0.2.123", firefox))
	for _, e := range s.stored(t) {
		assert.NotContains(t, e.URL+e.Path+e.Referrer, "192.0.2.123")
	}
	assert.NotContains(t, written.String(), "192.0.2")
	addr := netip.MustParseAddr("192.0.2.123").As4()
	assert.NotContains(t, written.String(), string(addr[:]))
	assert.NotContains(t, written.String(), firefox)
}
