package account

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// BrowserFor is how long a browser stays known after it has signed in.
const BrowserFor = 365 * 24 * time.Hour

// NewBrowser returns a token that identifies a browser that has just signed in, for
// [Attempts]. It grants no access. Nothing is stored: the token is signed with a key derived
// from the password, so a new password invalidates all tokens. It is empty if there is no
// password.
func (a *Account) NewBrowser(now time.Time) string {
	id := newSecret("") + "." + now.Add(BrowserFor).UTC().Format(time.DateOnly)
	signature := a.current().sign(id)
	if signature == nil {
		return ""
	}
	return id + "." + hex.EncodeToString(signature)
}

// BrowserOf returns the ID in a token from [Account.NewBrowser], if it is valid.
func (a *Account) BrowserOf(token string, now time.Time) (id string, ok bool) {
	const longest = 200 // tokens are far shorter
	i := strings.LastIndexByte(token, '.')
	if len(token) > longest || i < 0 {
		return "", false
	}
	id = token[:i]
	given, err := hex.DecodeString(token[i+1:])
	wanted := a.current().sign(id)
	if err != nil || wanted == nil || !hmac.Equal(given, wanted) {
		return "", false
	}
	_, until, _ := strings.Cut(id, ".")
	end, err := time.Parse(time.DateOnly, until)
	if err != nil || !now.Before(end) {
		return "", false
	}
	return id, true
}

// sign returns nil if there is no password.
func (p *password) sign(text string) []byte {
	if p == nil {
		return nil
	}
	key, err := hkdf.Key(sha256.New, p.Hash, p.Salt, "footfall: a browser that has signed in", sha256.Size)
	if err != nil {
		return nil // cannot happen: the key has the size of the hash
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
