package collector

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func sitesIn(t *testing.T, st store.Store) []string {
	t.Helper()
	sites, err := st.Sites(t.Context())
	require.NoError(t, err)
	return sites
}

func TestADeletedSiteLosesItsEventsAndALateOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := storetest.NewReference()
		s := prepare(t, Config{Store: st})
		require.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
		require.NoError(t, s.Account().DeleteSite(t.Context(), s.site.ID))
		synctest.Wait()
		assert.Empty(t, sitesIn(t, st), "at once")
		storetest.Add(t, st, store.Event{Site: s.site.ID, At: time.Now(), URL: pageURL, Path: "/"})
		assert.Len(t, s.Account().Deletions(), 1)
		time.Sleep(3 * choreEvery)
		synctest.Wait()
		assert.Empty(t, sitesIn(t, st))
		assert.Empty(t, s.Account().Deletions())
	})
}

func TestADeletionThatIsInterruptedGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failures atomic.Int64
		st := storetest.NewReference()
		s := prepare(t, Config{Store: forgetting{st, &failures}})
		require.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
		failures.Store(1 << 40)
		require.NoError(t, s.Account().DeleteSite(t.Context(), s.site.ID))
		time.Sleep(10 * choreEvery)
		assert.Len(t, sitesIn(t, st), 1, "the store cannot remove events")
		require.NoError(t, s.Close(t.Context()))

		// The second collector meets the first two of its tries, too.
		failures.Store(2)
		again := prepare(t, Config{Store: forgetting{st, &failures}})
		assert.Len(t, again.Account().Deletions(), 1)
		time.Sleep(5 * choreEvery)
		synctest.Wait()
		assert.Empty(t, sitesIn(t, st))
		assert.Empty(t, again.Account().Deletions())
	})
}

func TestEventsOfSitesThatDoNotExistAreRemovedAfterAWeek(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := storetest.NewReference()
		lost := store.Event{Site: "site_gone", At: time.Now(), URL: pageURL, Path: "/"}
		storetest.Add(t, st, lost)
		var log lockedBuffer
		start := func() *service {
			s := prepare(t, Config{Store: st, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			synctest.Wait()
			return s
		}
		begin := time.Now()
		s := start()
		require.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
		assert.Len(t, sitesIn(t, st), 2)
		assert.Contains(t, log.String(), "level=WARN")
		assert.Contains(t, log.String(), "site=site_gone events=1 found=2000-01-01T00:00:00.000Z removed_after=2000-01-08T00:00:00.000Z")
		time.Sleep(6 * 24 * time.Hour)
		synctest.Wait()
		assert.Equal(t, 7, strings.Count(log.String(), "site=site_gone"), "once a day:\n%s", log.String())
		assert.Len(t, sitesIn(t, st), 2)
		require.NoError(t, s.Close(t.Context()))

		again := start()
		require.Equal(t, []account.Orphan{{Site: "site_gone", Found: begin.UTC()}}, again.Account().Orphans(), "a restart does not begin a new week")
		time.Sleep(24*time.Hour + choreEvery)
		synctest.Wait()
		assert.Contains(t, log.String(), "removed now")
		assert.Equal(t, []string{s.site.ID}, sitesIn(t, st))
		assert.Empty(t, again.Account().Orphans())
		time.Sleep(3 * choreEvery)
		synctest.Wait()
		assert.Empty(t, again.Account().Deletions())
		assert.Equal(t, []string{s.site.ID}, sitesIn(t, st))
	})
}

func TestRetentionHoldsForEventsOfSitesThatDoNotExist(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := storetest.NewReference()
		storetest.Add(t, st, store.Event{Site: "site_gone", At: time.Now(), URL: pageURL, Path: "/"})
		prepare(t, Config{Store: st, Retention: 24 * time.Hour})
		time.Sleep(3 * 24 * time.Hour)
		synctest.Wait()
		assert.Empty(t, sitesIn(t, st))
	})
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
