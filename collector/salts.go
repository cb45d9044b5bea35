package collector

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// kindSalt is the kind of the record with the current day's salt. It is stored so that a
// restart does not count visitors of the day twice. The record's ID is the day.
const kindSalt = "salt"

// DayRecords are the kinds of records that backups leave out, because they hold only for their
// day: the salt, so that a collector that starts from a backup counts that day's visitors anew, and
// the time at which events without a site were found, so that it keeps them as long as new ones.
var DayRecords = []string{kindSalt, account.KindOrphan}

// saltSize is the size of a salt in bytes, equal to the size of the hash.
const saltSize = sha256.Size

// scrubber is a store that can erase removed data from all of its files. In other stores a
// removed salt may remain in a file, such as a log, until it is overwritten. Scrub may return
// store.ErrBusy.
type scrubber interface {
	Scrub(ctx context.Context) error
}

// salts holds the salt of the current UTC day and destroys all others.
type salts struct {
	store store.Store

	mu   sync.RWMutex
	day  time.Time // beginning of the day of salt
	salt []byte

	dirty time.Time // of the first of the scrubs that failed; zero if the last one succeeded
	clean bool      // no salt was removed since the last scrub; false at the start, because a crash may have prevented it
}

// today returns the salt, and the time for an event that arrives now.
func (s *salts) today(ctx context.Context) (salt [saltSize]byte, at time.Time, err error) {
	return s.on(ctx, time.Now().UTC())
}

// on returns the salt for an event that arrives at now, and its time. The time is never before the
// salt's day: a clock that is corrected at midnight does not need another salt.
func (s *salts) on(ctx context.Context, now time.Time) (salt [saltSize]byte, at time.Time, err error) {
	if salt, at, ok := s.current(now); ok {
		return salt, at, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.renew(ctx, now); err != nil {
		return salt, at, err
	}
	return [saltSize]byte(s.salt), later(now, s.day), nil
}

func (s *salts) current(now time.Time) (salt [saltSize]byte, at time.Time, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.isStale(now) {
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

// corrected is how far before the salt's day the clock may be, and the salt is still used.
const corrected = time.Hour

// isStale reports whether an event at now needs another salt. That includes a clock that was a day
// ahead and is right again: the visitors of the rest of the day count anew, because the salt that they
// had is destroyed, but their events are not stored as events of tomorrow.
func (s *salts) isStale(now time.Time) bool {
	return s.salt == nil || dayOf(now).After(s.day) || now.Before(s.day.Add(-corrected))
}

// roll replaces the salt when the day is over and scrubs removed salts from the store.
// Chores call it regularly, which retries failures.
func (s *salts) roll(ctx context.Context) error {
	s.mu.Lock()
	err := s.renew(ctx, time.Now())
	due := err == nil && !s.clean
	s.clean = s.clean || due // before the scrub: a removal during the scrub needs another one
	s.mu.Unlock()
	st, ok := s.store.(scrubber)
	if !due || !ok {
		return err
	}
	err = st.Scrub(ctx) // without the lock, which events of browsers need
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scrubbed(err, time.Now())
}

// scrubWithin is how long a report may delay a scrub before that is an error.
const scrubWithin = time.Hour

// scrubbed notes the result of a scrub, and returns the error to report.
func (s *salts) scrubbed(err error, now time.Time) error {
	if err == nil {
		s.dirty = time.Time{}
		return nil
	}
	s.clean = false
	if s.dirty.IsZero() {
		s.dirty = now
	}
	if errors.Is(err, store.ErrBusy) && now.Sub(s.dirty) < scrubWithin {
		return nil
	}
	return err
}

// renew destroys the salts of other days and creates one for the day of now. It creates none before
// the old ones are destroyed.
func (s *salts) renew(ctx context.Context, now time.Time) error {
	if !s.isStale(now) {
		return nil
	}
	today := dayOf(now)
	clear(s.salt)
	s.salt = nil
	salt, err := s.keepOnly(ctx, today.Format(time.DateOnly))
	if err != nil {
		return err
	}
	s.salt, s.day = salt, today
	return nil
}

// keepOnly removes all salts except the day's from the store, and returns that one.
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

// visitorOf returns a 64-bit hash of a visitor of a site. It is meaningless without the salt
// and never 0, which means no visitor.
func visitorOf(salt *[saltSize]byte, site string, addr netip.Addr, userAgent string) uint64 {
	mac := hmac.New(sha256.New, salt[:])
	ip := addr.As16()
	var text []byte
	text = append(text, ip[:]...) // fixed size, and an ID has no NUL: the fields cannot run together
	text = append(text, site...)
	text = append(text, 0)
	text = append(text, userAgent...)
	mac.Write(text)
	return max(binary.BigEndian.Uint64(mac.Sum(nil)), 1)
}
