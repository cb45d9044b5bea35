package collector

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// kindSalt is the kind of record that keeps the salt of the current day, so that a
// restart does not make each visitor of the day a second one. Its ID is the day.
const kindSalt = "salt"

// DayRecords are the kinds of records that must not outlast their day: a backup leaves
// them out. A collector that starts on one counts the visitors of that day anew.
var DayRecords = []string{kindSalt}

// saltSize is the size of a salt in bytes: that of the hash.
const saltSize = sha256.Size

// scrubber is a store that can see to it that what was removed stands in none of its
// files any more. Without it a removed salt may stay where the store no longer looks,
// such as in a log, until that is written over.
type scrubber interface {
	Scrub(ctx context.Context) error
}

// salts has the salt of the current UTC day, and sees to it that there is no other.
type salts struct {
	store store.Store

	mu   sync.RWMutex
	day  time.Time // beginning of the day of salt
	salt []byte

	clean bool // no salt was removed since the last scrub; not so at the start: a crash may have come between
}

// today returns the salt and the time of an event that comes in now. The time is never
// before the salt's day: a clock that is set back does not bring a salt back.
func (s *salts) today(ctx context.Context) (salt [saltSize]byte, at time.Time, err error) {
	now := time.Now().UTC()
	if salt, at, ok := s.current(now); ok {
		return salt, at, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.renew(ctx, dayOf(now)); err != nil {
		return salt, at, err
	}
	return [saltSize]byte(s.salt), later(now, s.day), nil
}

func (s *salts) current(now time.Time) (salt [saltSize]byte, at time.Time, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.isStale(dayOf(now)) {
		return salt, at, false
	}
	return [saltSize]byte(s.salt), later(now, s.day), true
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func (s *salts) isStale(today time.Time) bool { return s.salt == nil || today.After(s.day) }

// roll makes the salts today's, also when no event asks for one, and scrubs the store of
// those that were removed. Chores call it again and again, so what failed is tried again.
func (s *salts) roll(ctx context.Context) error {
	s.mu.Lock()
	err := s.renew(ctx, dayOf(time.Now()))
	due := err == nil && !s.clean
	s.clean = s.clean || due // before the scrub: what is removed during it is due again
	s.mu.Unlock()
	st, ok := s.store.(scrubber)
	if !due || !ok {
		return err
	}
	if err = st.Scrub(ctx); err != nil { // not under the lock: events of browsers would wait
		s.mu.Lock()
		s.clean = false
		s.mu.Unlock()
	}
	return err
}

// renew destroys salts of other days and makes sure that there is one for today. While
// an old one could not be destroyed there is no new one, so it is tried again.
func (s *salts) renew(ctx context.Context, today time.Time) error {
	if !s.isStale(today) {
		return nil
	}
	clear(s.salt)
	s.salt = nil
	salt, err := s.keepOnly(ctx, today.Format(time.DateOnly))
	if err != nil {
		return err
	}
	s.salt, s.day = salt, today
	return nil
}

// keepOnly removes all salts from the store but that of the day, which it returns.
func (s *salts) keepOnly(ctx context.Context, day string) (salt []byte, err error) {
	records, err := s.store.Records(ctx, kindSalt)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if r.ID == day && len(r.Data) == saltSize {
			salt = bytes.Clone(r.Data)
			continue
		}
		s.clean = false
		if err := s.store.Remove(ctx, kindSalt, r.ID); err != nil {
			return nil, err
		}
	}
	if salt != nil {
		return salt, nil
	}
	salt = make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails
	return salt, s.store.Put(ctx, kindSalt, store.Record{ID: day, Data: bytes.Clone(salt)})
}

// visitorOf hashes who looked at a site: 64 bits that mean nothing without the salt. It
// is never 0, which stands for no visitor.
func visitorOf(salt *[saltSize]byte, site string, addr netip.Addr, userAgent string) uint64 {
	mac := hmac.New(sha256.New, salt[:])
	ip := addr.As16()
	var text []byte
	text = append(text, ip[:]...) // of fixed size, and an id has no NUL: nothing runs together
	text = append(text, site...)
	text = append(text, 0)
	text = append(text, userAgent...)
	mac.Write(text)
	return max(binary.BigEndian.Uint64(mac.Sum(nil)), 1)
}
