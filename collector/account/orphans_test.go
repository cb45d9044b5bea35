package account_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func orphaned(t *testing.T) (*account.Account, store.Store) {
	t.Helper()
	st := storetest.NewReference()
	storetest.Add(t, st, store.Event{Site: "site_gone", At: time.Now(), URL: "https://shop.example.com/", Path: "/"})
	a := open(t, st)
	expired, err := a.FindOrphans(t.Context())
	require.NoError(t, err)
	require.Empty(t, expired)
	require.Len(t, a.Orphans(), 1)
	return a, st
}

func TestARecoveredSiteHasItsIDAndItsEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, st := orphaned(t)
		_, err := a.RecoverSite(t.Context(), "site_gone", "", "not a domain", "")
		assert.Equal(t, "domain", fieldOf(t, err))
		_, err = a.RecoverSite(t.Context(), "site_other", "", "other.example.com", "")
		require.ErrorIs(t, err, account.ErrNotFound)
		site, err := a.RecoverSite(t.Context(), "site_gone", "", "https://shop.example.com/", "")
		require.NoError(t, err)
		assert.Equal(t, []string{"site_gone", "shop.example.com", "shop.example.com"}, []string{site.ID, site.Name, site.Domain})
		assert.Empty(t, a.Orphans())
		_, err = a.RecoverSite(t.Context(), "site_gone", "", "other.example.com", "")
		require.ErrorIs(t, err, account.ErrNotFound)
		time.Sleep(2 * account.KeepOrphans)
		b := open(t, st)
		expired, err := b.FindOrphans(t.Context())
		require.NoError(t, err)
		assert.Empty(t, expired)
		assert.Empty(t, b.Deletions())
		left, err := st.Sites(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"site_gone"}, left)
	})
}

// The record of a site may come back by other means than RecoverSite.
func TestASiteThatIsBackIsNoOrphan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, st := orphaned(t)
		record := store.Record{ID: "site_gone", Data: []byte(`{"id": "site_gone", "domain": "shop.example.com"}`)}
		require.NoError(t, st.Put(t.Context(), "site", record))
		a := open(t, st)
		_, err := a.FindOrphans(t.Context())
		require.NoError(t, err)
		assert.Empty(t, a.Orphans())

		time.Sleep(2 * account.KeepOrphans)
		require.NoError(t, st.Remove(t.Context(), "site", "site_gone"))
		a = open(t, st)
		_, err = a.FindOrphans(t.Context())
		require.NoError(t, err)
		require.Len(t, a.Orphans(), 1)
		assert.Equal(t, time.Now().UTC(), a.Orphans()[0].Found, "a new week")
	})
}

func TestAnOrphanThatExpiredIsDeletedAndNotFoundAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, st := orphaned(t)
		time.Sleep(account.KeepOrphans)
		expired, err := a.FindOrphans(t.Context())
		require.NoError(t, err)
		require.Len(t, expired, 1)
		require.Len(t, a.Deletions(), 1)
		assert.Empty(t, a.Orphans())
		_, err = a.RecoverSite(t.Context(), "site_gone", "", "shop.example.com", "")
		require.ErrorIs(t, err, account.ErrNotFound, "too late")
		b := open(t, st)
		expired, err = b.FindOrphans(t.Context())
		require.NoError(t, err)
		assert.Empty(t, expired)
		require.Len(t, b.Deletions(), 1)
		assert.Empty(t, b.Orphans())
	})
}
