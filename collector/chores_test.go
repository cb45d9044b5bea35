package collector

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestEventsAreRemovedAfterRetention(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := prepare(t, Config{Retention: 48 * time.Hour})
		for range 5 {
			require.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
			time.Sleep(24 * time.Hour)
		}
		time.Sleep(choreEvery)
		synctest.Wait()
		all := s.stored(t)
		require.Len(t, all, 2)
		assert.Equal(t, dayOf(time.Now()).Add(-48*time.Hour), dayOf(all[0].At), "days are kept whole")
	})
}

func TestEventsAreKeptForeverByDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := prepare(t, Config{})
		require.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
		time.Sleep(30 * 24 * time.Hour)
		assert.Len(t, s.stored(t), 1)
	})
}

// forgetting is a store whose Forget fails several times.
type forgetting struct {
	store.Store
	failures *atomic.Int64
}

func (f forgetting) Forget(ctx context.Context, site string, before time.Time) error {
	if f.failures.Add(-1) >= 0 {
		return errors.New("busy")
	}
	return f.Store.Forget(ctx, site, before)
}

func TestRemovalThatFailedIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failures atomic.Int64
		s := prepare(t, Config{Retention: time.Hour, Store: forgetting{storetest.NewReference(), &failures}})
		require.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
		synctest.Wait()
		failures.Store(2)
		time.Sleep(48*time.Hour + 3*choreEvery)
		synctest.Wait()
		assert.Empty(t, s.stored(t))
	})
}

func TestDeletedSitesAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := prepare(t, Config{})
		require.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
		require.NoError(t, s.Account().DeleteSite(t.Context(), s.site.ID))
		time.Sleep(2 * choreEvery)
		synctest.Wait()
		_, known := s.activity.last.Load(s.site.ID)
		assert.False(t, known)
	})
}

// lengthy is a store whose Forget blocks until end is closed.
type lengthy struct {
	store.Store
	begun, end chan struct{}
}

func (l lengthy) Forget(context.Context, string, time.Time) error {
	l.begun <- struct{}{}
	<-l.end
	return nil
}

func TestCloseWaitsForChoresAsLongAsItMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := lengthy{storetest.NewReference(), make(chan struct{}), make(chan struct{})}
		s := prepare(t, Config{Retention: time.Hour, Store: st})
		<-st.begun // of the next day: at the start there is no site
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, s.Close(short), context.DeadlineExceeded)
		close(st.end)
		assert.NoError(t, s.Close(t.Context()))
		synctest.Wait()
	})
}

// sluggish is a store whose Forget takes five minutes.
type sluggish struct {
	store.Store
	forgotten *atomic.Int64
}

func (s sluggish) Forget(ctx context.Context, site string, before time.Time) error {
	select {
	case <-time.After(5 * time.Minute):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.forgotten.Add(1)
	return s.Store.Forget(ctx, site, before)
}

func TestRetentionEndsAlthoughTheRemovalOfASiteTakesMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var forgotten atomic.Int64
		var log lockedBuffer
		s := prepare(t, Config{Retention: time.Hour, Store: sluggish{storetest.NewReference(), &forgotten}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.Equal(t, 202, s.post(t.Context(), s.event("x", pageURL, "{}")).Code)
		_, err := s.Account().AddSite(t.Context(), "", "other.example")
		require.NoError(t, err)
		time.Sleep(48*time.Hour + 15*time.Minute)
		synctest.Wait()
		assert.Empty(t, s.stored(t))
		assert.LessOrEqual(t, forgotten.Load(), int64(2*3), "once a day for each site")
		assert.False(t, strings.Contains(log.String(), "level=ERROR"), "the log has an error")
		require.NoError(t, s.Close(t.Context()))
	})
}
