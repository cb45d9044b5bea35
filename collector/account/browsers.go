package account

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// BrowserFor is how long a browser is known after it has signed in.
const BrowserFor = 365 * 24 * time.Hour

// NewBrowser returns a token by which a browser that has just signed in is known again.
// It opens nothing; it is for Attempts. Nothing is kept of it: it is signed with a key
// that comes of the password, so that another password makes all browsers strangers. It
// is empty while there is no password.
func (a *Account) NewBrowser(now time.Time) string {
	id := newSecret("") + "." + now.Add(BrowserFor).UTC().Format(time.DateOnly)
	signature := a.current().sign(id)
	if signature == nil {
		return ""
	}
	return id + "." + hex.EncodeToString(signature)
}

// BrowserOf returns the id of the browser that token was made for.
func (a *Account) BrowserOf(token string, now time.Time) (id string, ok bool) {
	const longest = 200 // which no token of ours is near
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

// sign returns nothing if there is no password.
func (p *password) sign(text string) []byte {
	if p == nil {
		return nil
	}
	key, err := hkdf.Key(sha256.New, p.Hash, p.Salt, "footfall: a browser that has signed in", sha256.Size)
	if err != nil {
		return nil // never: the size is that of the hash
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
