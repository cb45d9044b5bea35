package account

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

func signedUp(t *testing.T) (*Account, func() string) {
	t.Helper()
	const words = "correct horse battery"
	a := quicklySetUp(t, words)
	return a, func() string {
		token, _, err := a.SignIn(context.Background(), words)
		require.NoError(t, err)
		return token
	}
}

func TestSessionEndsAfterThirtyDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, signIn := signedUp(t)
		token := signIn()
		time.Sleep(30*24*time.Hour - 2*time.Second)
		assert.True(t, a.SignedIn(token))
		time.Sleep(2 * time.Second)
		assert.False(t, a.SignedIn(token))
		signIn()
		assert.Len(t, a.sessions, 1, "what is over is removed")
	})
}

func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, signIn := signedUp(t)
		first := signIn()
		for range maxSessions {
			time.Sleep(time.Minute)
			signIn()
		}
		assert.Len(t, a.sessions, maxSessions)
		assert.False(t, a.SignedIn(first), "the one that ends first gave way")
	})
}

// The old password is checked with so many rounds that the new one comes meanwhile.
func TestAPasswordThatChangesWhileItIsCheckedIsWrong(t *testing.T) {
	t.Parallel()
	const words = "correct horse battery"
	for name, use := range map[string]func(*Account) error{
		"SignIn": func(a *Account) error {
			_, _, err := a.SignIn(context.Background(), words)
			return err
		},
		"ChangePassword": func(a *Account) error {
			return a.ChangePassword(context.Background(), words, "another horse battery")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := quicklySetUp(t, "what the password becomes")
			slow := &password{Salt: []byte("salt"), Rounds: 3_000_000}
			var err error
			slow.Hash, err = slow.derive(words)
			require.NoError(t, err)
			quick := a.password
			a.password = slow
			used := make(chan error)
			go func() { used <- use(a) }()
			time.Sleep(20 * time.Millisecond) // use has begun to check; if it has not, it meets the new password
			a.mu.Lock()
			a.password = quick
			a.mu.Unlock()
			require.ErrorIs(t, <-used, ErrPassword)
			assert.Same(t, quick, a.password)
			assert.Empty(t, a.sessions)
		})
	}
}

// full is a store on a disk without space.
type full struct{ store.Store }

func (full) Put(context.Context, string, store.Record) error { return store.ErrFull }
func (full) Remove(context.Context, string, string) error    { return store.ErrFull }

func TestTheOwnerCanSignInWhileTheDiskIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, signIn := signedUp(t)
		first := signIn()
		time.Sleep(sessionFor) // it cannot be removed, either
		a.store = full{a.store}
		token := signIn()
		assert.True(t, a.SignedIn(token))
		assert.False(t, a.SignedIn(first))
		_, _, err := a.SignIn(t.Context(), "another horse battery")
		require.ErrorIs(t, err, ErrPassword)
		again, err := Open(t.Context(), a.store)
		require.NoError(t, err)
		assert.False(t, again.SignedIn(token), "it was not stored")
	})
}
