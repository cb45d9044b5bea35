package account

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/footfall-dev/footfall/collector/store"
)

// ErrPassword is returned for a wrong password and for a wrong or used setup token.
var ErrPassword = errors.New("account: wrong password")

// password is a salted PBKDF2 hash (RFC 8018), with the rounds that OWASP recommends for
// SHA-256.
type password struct {
	Salt   []byte `json:"salt"`
	Hash   []byte `json:"hash"`
	Rounds int    `json:"rounds"`
}

const (
	passwordID     = "owner"
	passwordRounds = 600_000
	minPassword    = 10      // characters
	maxPassword    = 1 << 10 // bytes
)

func newPassword(text string) (*password, error) {
	switch {
	case utf8.RuneCountInString(text) < minPassword:
		return nil, &FieldError{"password", "is shorter than 10 characters"}
	case len(text) > maxPassword:
		return nil, &FieldError{"password", "is longer than 1,024 bytes"}
	}
	p := &password{Salt: make([]byte, 16), Rounds: passwordRounds}
	_, _ = rand.Read(p.Salt) // never fails
	var err error
	p.Hash, err = p.derive(text)
	return p, err
}

func (p *password) derive(text string) ([]byte, error) {
	return pbkdf2.Key(sha256.New, text, p.Salt, p.Rounds, sha256.Size)
}

func (p *password) is(text string) bool {
	if p == nil || len(text) > maxPassword {
		return false
	}
	hash, err := p.derive(text)
	return err == nil && subtle.ConstantTimeCompare(hash, p.Hash) == 1
}

// HasPassword reports whether a password is set.
func (a *Account) HasPassword() bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.password != nil
}

// SetupToken returns the token for [Account.SetUp], new at each start; empty if a password
// is set.
func (a *Account) SetupToken() string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.password != nil {
		return ""
	}
	return a.setup
}

// SetUp sets the first password. It works once.
func (a *Account) SetUp(ctx context.Context, token, text string) error {
	if now := a.SetupToken(); now == "" || subtle.ConstantTimeCompare([]byte(now), []byte(token)) == 0 {
		return ErrPassword
	}
	p, err := newPassword(text)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.password != nil {
		return ErrPassword // another call was faster
	}
	return a.putPassword(ctx, p)
}

// ChangePassword sets a new password and ends all sessions.
func (a *Account) ChangePassword(ctx context.Context, old, text string) error {
	checked := a.current()
	if !checked.is(old) {
		return ErrPassword
	}
	p, err := newPassword(text)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.password != checked {
		return ErrPassword // another call was faster
	}
	if err := a.putPassword(ctx, p); err != nil {
		return err
	}
	for id := range a.sessions {
		if err := remove(ctx, a, KindSession, id, a.sessions); err != nil {
			return err
		}
	}
	return nil
}

func (a *Account) current() *password {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.password
}

func (a *Account) putPassword(ctx context.Context, p *password) error {
	kept := map[string]*password{}
	if err := save(ctx, a, kindPassword, passwordID, kept, p); err != nil {
		return err
	}
	a.password = p
	return nil
}

// session is a sign-in. The record's ID is the hash of the token.
type session struct {
	Expires time.Time `json:"expires"`
}

// A session lasts sessionFor. Beyond maxSessions the one that expires first is removed.
const (
	sessionFor  = 30 * 24 * time.Hour
	maxSessions = 100
)

// SignIn returns a token for [Account.SignedIn]. Only its hash is stored. If the store has no space,
// the session ends with the process.
func (a *Account) SignIn(ctx context.Context, text string) (token string, expires time.Time, err error) {
	checked := a.current()
	if !checked.is(text) {
		return "", time.Time{}, ErrPassword
	}
	token, expires = newSecret(""), time.Now().Add(sessionFor).UTC().Truncate(time.Second)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.password != checked {
		return "", time.Time{}, ErrPassword // it was changed meanwhile
	}
	if err = a.dropSessions(ctx); err == nil {
		err = save(ctx, a, KindSession, hashOf(token), a.sessions, session{expires})
	}
	if errors.Is(err, store.ErrFull) { // one who wants to look at a full disk's service must get in
		a.sessions[hashOf(token)], err = session{expires}, nil
	}
	return token, expires, err
}

// dropSessions removes expired sessions, and makes room for one more.
func (a *Account) dropSessions(ctx context.Context) error {
	for {
		oldest := ""
		for id, s := range a.sessions {
			if oldest == "" || s.Expires.Before(a.sessions[oldest].Expires) {
				oldest = id
			}
		}
		if oldest == "" || len(a.sessions) < maxSessions && a.sessions[oldest].Expires.After(time.Now()) {
			return nil
		}
		if err := remove(ctx, a, KindSession, oldest, a.sessions); err != nil {
			return err
		}
	}
}

// SignedIn reports whether token belongs to a session that has not expired.
func (a *Account) SignedIn(token string) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	s, ok := a.sessions[hashOf(token)]
	return ok && time.Now().Before(s.Expires)
}

// SignOut ends the session of token, if there is one.
func (a *Account) SignOut(ctx context.Context, token string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := remove(ctx, a, KindSession, hashOf(token), a.sessions)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func hashOf(token string) string {
	hash := sha256.Sum256([]byte(token))
	return hex.EncodeToString(hash[:])
}
