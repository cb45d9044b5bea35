package account

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
