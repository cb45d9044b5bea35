package account

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
	"time"
)

// keyPrefix lets people and secret scanners recognize a key.
const keyPrefix = "ffk_"

// Keys returns all keys, oldest first.
func (a *Account) Keys() []Key {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return sorted(a.keys, func(Key) bool { return true }, func(x, y Key) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
}

// IssueKey creates a key for events. Only a hash of the secret is stored.
func (a *Account) IssueKey(ctx context.Context, label string) (secret string, k Key, err error) {
	return a.IssueKeyFor(ctx, ScopeEvents, label)
}

// IssueKeyFor creates a key with a scope.
func (a *Account) IssueKeyFor(ctx context.Context, scope Scope, label string) (secret string, k Key, err error) {
	if label, err = cleanName("label", cmp.Or(strings.TrimSpace(label), "unnamed")); err != nil {
		return "", Key{}, err
	}
	return a.putKey(ctx, Key{ID: newID("key_"), Label: label, Scope: scope})
}

// RotateKey gives a key a new secret. The old secret stops working.
func (a *Account) RotateKey(ctx context.Context, id string) (secret string, k Key, err error) {
	a.mu.RLock()
	k, ok := a.keys[id]
	a.mu.RUnlock()
	if !ok {
		return "", Key{}, ErrNotFound
	}
	return a.putKey(ctx, k)
}

func (a *Account) putKey(ctx context.Context, k Key) (string, Key, error) {
	secret := newSecret(keyPrefix)
	hash := sha256.Sum256([]byte(secret))
	k.Hash, k.Hint, k.CreatedAt = hash[:], secret[len(secret)-4:], time.Now().UTC().Truncate(time.Millisecond)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := save(ctx, a, kindKey, k.ID, a.keys, k); err != nil {
		return "", Key{}, err
	}
	return secret, k, nil
}

// RevokeKey removes a key, which stops working.
func (a *Account) RevokeKey(ctx context.Context, id string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return remove(ctx, a, kindKey, id, a.keys)
}

// Authenticate reports whether secret belongs to a key.
func (a *Account) Authenticate(secret string) bool {
	_, ok := a.KeyOf(secret)
	return ok
}

// KeyOf returns the key with this secret. A secret has 130 random bits, so one
// round of SHA-256 protects it. Every key is compared, in constant time.
func (a *Account) KeyOf(secret string) (key Key, ok bool) {
	hash := sha256.Sum256([]byte(secret))
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, k := range a.keys {
		if subtle.ConstantTimeCompare(k.Hash, hash[:]) == 1 {
			key, ok = k, true
		}
	}
	return key, ok
}
