package account

import (
	"crypto/rand"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store/storetest"
)

var (
	noon   = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	home   = netip.MustParseAddr("192.0.2.7")
	office = netip.MustParseAddr("2001:db8:1:2::7")
)

// attack tries passwords from very many addresses, as fast as the limits allow.
func attack(a *Attempts, at time.Time) (tried int) {
	for i := range 500 {
		if a.Take(at, netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1}), "") == 0 {
			tried++
		}
	}
	return tried
}

func TestOneNetworkHasFewAttempts(t *testing.T) {
	t.Parallel()
	a := NewAttempts()
	for i := range triesOfOne.Burst {
		require.Zero(t, a.Take(noon, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), ""))
	}
	assert.Equal(t, triesOfOne.Every, a.Take(noon, home, ""), "addresses of one network are one")
	assert.NotZero(t, a.Take(noon.Add(triesOfOne.Every-1), home, ""))
	assert.Zero(t, a.Take(noon.Add(triesOfOne.Every), home, ""))
	assert.Zero(t, a.Take(noon, office, ""), "another network has its own")
	a.Forgive(home, "")
	assert.Zero(t, a.Take(noon, home, ""))
}

func TestOneNetworkDoesNotUseUpTheAttemptsOfOthers(t *testing.T) {
	t.Parallel()
	a := NewAttempts()
	for range 1000 {
		a.Take(noon, home, "")
	}
	for i := range triesOfStrangers.Burst - triesOfOne.Burst {
		assert.Zero(t, a.Take(noon, netip.AddrFrom4([4]byte{10, 0, byte(i), 1}), ""))
	}
}

func TestAllUnknownBrowsersShareALimit(t *testing.T) {
	t.Parallel()
	a := NewAttempts()
	assert.Equal(t, triesOfStrangers.Burst, attack(a, noon))
	assert.Zero(t, attack(a, noon.Add(time.Second)))
	assert.Equal(t, 1, attack(a, noon.Add(2*time.Second)))
	assert.Equal(t, triesOfStrangers.Burst, attack(a, noon.Add(time.Hour)), "no more is won back")
}

func TestAttackersWithManyAddressesDoNotLockOutKnownBrowsers(t *testing.T) {
	t.Parallel()
	a := NewAttempts()
	for minute := range 60 {
		now := noon.Add(time.Duration(minute) * time.Minute)
		attack(a, now)
		assert.NotZero(t, a.Take(now, office, ""), "a stranger waits")
		assert.Zero(t, a.Take(now, home, "the owner's laptop"))
		assert.Zero(t, a.Take(now, office, "the owner's laptop"), "wherever it is")
	}
}

func TestAttackerInTheSameNetworkDoesNotLockOutKnownBrowsers(t *testing.T) {
	t.Parallel()
	a := NewAttempts()
	for range 100 {
		a.Take(noon, home, "")
	}
	assert.Zero(t, a.Take(noon, home, "the owner's laptop"))
}

func TestKnownBrowserHasFewAttemptsToo(t *testing.T) {
	t.Parallel()
	a := NewAttempts()
	for range triesOfOne.Burst {
		require.Zero(t, a.Take(noon, home, "stolen"))
	}
	assert.Equal(t, triesOfOne.Every, a.Take(noon, office, "stolen"))
	assert.Zero(t, a.Take(noon, office, "another"))
	a.Forgive(home, "stolen")
	assert.Zero(t, a.Take(noon, home, "stolen"))
}

func TestMemoryOfAttemptsIsBounded(t *testing.T) {
	t.Parallel()
	a := NewAttempts()
	for i := range 5000 { // each from another network, as often as strangers may
		now := noon.Add(time.Duration(i) * triesOfStrangers.Every)
		assert.Zero(t, a.Take(now, netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1}), ""))
		assert.LessOrEqual(t, a.networks.Len(), 50)
	}
	for i := range 3000 {
		a.Take(noon, home, strings.Repeat("x", i%100)+string(rune('a'+i/100)))
	}
	assert.LessOrEqual(t, a.browsers.Len(), maxTriers)
}

// quicklySetUp returns an account with a password hash of one round, for speed.
func quicklySetUp(t *testing.T, words string) *Account {
	t.Helper()
	a, err := Open(t.Context(), storetest.NewReference())
	require.NoError(t, err)
	p := &password{Salt: []byte(rand.Text()), Rounds: 1}
	p.Hash, err = p.derive(words)
	require.NoError(t, err)
	require.NoError(t, a.putPassword(t.Context(), p))
	return a
}

func TestBrowserIsKnownForAYearOrUntilThePasswordChanges(t *testing.T) {
	t.Parallel()
	a := quicklySetUp(t, "correct horse battery")
	token := a.NewBrowser(noon)
	id, ok := a.BrowserOf(token, noon)
	require.True(t, ok)
	assert.True(t, strings.HasPrefix(token, id+"."))
	other, _ := a.BrowserOf(a.NewBrowser(noon), noon)
	assert.NotEqual(t, id, other)

	_, ok = a.BrowserOf(token, noon.Add(BrowserFor-24*time.Hour))
	assert.True(t, ok)
	_, ok = a.BrowserOf(token, noon.Add(BrowserFor))
	assert.False(t, ok)

	again, err := Open(t.Context(), a.store)
	require.NoError(t, err)
	_, ok = again.BrowserOf(token, noon)
	assert.True(t, ok, "a restart does not change it")

	a.password = quicklySetUp(t, "another password").password
	_, ok = a.BrowserOf(token, noon)
	assert.False(t, ok)
}

func TestForgedBrowserIsUnknown(t *testing.T) {
	t.Parallel()
	a, b := quicklySetUp(t, "correct horse battery"), quicklySetUp(t, "correct horse battery")
	token := a.NewBrowser(noon)
	id, _ := a.BrowserOf(token, noon)
	for name, forged := range map[string]string{
		"empty":               "",
		"dots":                "...",
		"no signature":        id + ".",
		"id alone":            id,
		"longer life":         strings.Replace(token, "2027", "2099", 1),
		"cut":                 token[:len(token)-2],
		"longer":              token + "00",
		"not hex":             token[:len(token)-2] + "zz",
		"of another password": b.NewBrowser(noon),
		"huge":                strings.Repeat("x", 1<<20) + ".00",
	} {
		_, ok := a.BrowserOf(forged, noon)
		assert.False(t, ok, name)
	}
	fresh, err := Open(t.Context(), storetest.NewReference())
	require.NoError(t, err)
	assert.Empty(t, fresh.NewBrowser(noon), "without a password")
	_, ok := fresh.BrowserOf(token, noon)
	assert.False(t, ok)
}
