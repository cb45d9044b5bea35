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
	"github.com/footfall-dev/footfall/collector/internal/localtime"
	"github.com/footfall-dev/footfall/collector/store"
)

// kindSalt is the kind of the records with the salts of the current days. They are stored so that a
// restart does not count visitors of the day twice. A record's ID is the day.
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

// salts holds the salts of the days that the sites have now, and destroys all others. A day is a date, which all sites on that date
// share: in zones that are far apart there are up to three at once.
type salts struct {
	store store.Store
	zones func() []*time.Location // of the sites

	mu    sync.RWMutex
	days  map[time.Time]daySalt // by date
	until time.Time             // when the first of the days ends in a zone

	dirty time.Time // of the first of the scrubs that failed; zero if the last one succeeded
	clean bool      // no salt was removed since the last scrub; false at the start, because a crash may have prevented it
}

// daySalt is the salt of a date.
type daySalt struct {
	salt  []byte
	since time.Time // when it was created or read
}

// today returns the salt, and the time for an event that arrives now at a site with this zone.
func (s *salts) today(ctx context.Context, zone *time.Location) (salt [saltSize]byte, at time.Time, err error) {
	return s.on(ctx, time.Now().UTC(), zone)
}

// on returns the salt for an event that arrives at now, and its time. The time is never before the
// salt's day: a clock that is corrected at midnight does not need another salt.
func (s *salts) on(ctx context.Context, now time.Time, zone *time.Location) (salt [saltSize]byte, at time.Time, err error) {
	if salt, at, ok := s.current(now, zone); ok {
		return salt, at, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.renew(ctx, now, append(s.zones(), zone)); err != nil {
		return salt, at, err
	}
	day, at := s.dayOf(now, zone)
	return [saltSize]byte(s.days[day].salt), at, nil
}

func (s *salts) current(now time.Time, zone *time.Location) (salt [saltSize]byte, at time.Time, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	day, at := s.dayOf(now, zone)
	if s.days[day].salt == nil || !now.Before(s.until) {
		return salt, at, false
	}
	return [saltSize]byte(s.days[day].salt), at, true
}

// corrected is how far before the start of a day the clock may be, and the day's salt is still used.
const corrected = time.Hour

// dayOf returns the day of an event in a zone, and its time. It is the next day if the clock was there, and the salt of the day is
// destroyed. If the clock was ahead by a day, the visitors of the rest of the day count anew, but their events are not stored as
// events of tomorrow.
func (s *salts) dayOf(now time.Time, zone *time.Location) (day, at time.Time) {
	day = localtime.DayOf(now, zone)
	if next, begin, was := s.wasAhead(day, now, zone); was && s.days[day].salt == nil {
		return next, begin
	}
	return day, now
}

// wasAhead reports whether the clock has shown the day after a day, which begins soon, and was corrected.
func (s *salts) wasAhead(day, now time.Time, zone *time.Location) (next, begin time.Time, was bool) {
	next = day.AddDate(0, 0, 1)
	of, known := s.days[next]
	if !known || !now.Before(of.since) {
		return next, begin, false
	}
	begin = localtime.Start(next, zone)
	return next, begin, !now.Before(begin.Add(-corrected))
}

// roll replaces the salts of days that are over and scrubs removed salts from the store.
// Chores call it regularly, which retries failures.
func (s *salts) roll(ctx context.Context) error {
	s.mu.Lock()
	err := s.renew(ctx, time.Now().UTC(), s.zones())
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

// renew destroys the salts of days that the zones do not have at now, and creates those that are missing. It creates none before
// the old ones are destroyed.
func (s *salts) renew(ctx context.Context, now time.Time, zones []*time.Location) error {
	days, until := s.needed(now, zones)
	same := len(days) == len(s.days)
	for _, of := range days {
		same = same && of.salt != nil
	}
	if same {
		s.until = until
		return nil
	}
	for _, of := range s.days {
		clear(of.salt)
	}
	s.days, s.until = nil, time.Time{}
	if err := s.keepOnly(ctx, days, now); err != nil {
		return err
	}
	s.days, s.until = days, until
	return nil
}

// needed returns the days that the zones have at now, with the salts that are known, and when the first of them ends.
func (s *salts) needed(now time.Time, zones []*time.Location) (days map[time.Time]daySalt, until time.Time) {
	days = make(map[time.Time]daySalt)
	for _, zone := range zones {
		day, _ := s.dayOf(now, zone)
		days[day] = s.days[day]
		if next, _, was := s.wasAhead(day, now, zone); was {
			days[next] = s.days[next]
		}
		if end := localtime.Start(day.AddDate(0, 0, 1), zone); until.IsZero() || end.Before(until) {
			until = end
		}
	}
	return days, until
}

// keepOnly removes the salts of other days from the store, and then reads or creates the missing ones.
func (s *salts) keepOnly(ctx context.Context, days map[time.Time]daySalt, now time.Time) error {
	for day, of := range days {
		if of.since.IsZero() {
			of.since = now
		}
		days[day] = daySalt{since: of.since}
	}
	records, err := s.store.Records(ctx, kindSalt)
	if err != nil {
		return err
	}
	for _, r := range records {
		day, err := time.Parse(time.DateOnly, r.ID)
		if _, stays := days[day]; stays && err == nil && len(r.Data) == saltSize {
			days[day] = daySalt{bytes.Clone(r.Data), days[day].since}
			continue
		}
		s.clean = false
		if err := s.store.Remove(ctx, kindSalt, r.ID); err != nil {
			return err
		}
	}
	for day, of := range days {
		if of.salt != nil {
			continue
		}
		salt := make([]byte, saltSize)
		_, _ = rand.Read(salt) // never fails
		if err := s.store.Put(ctx, kindSalt, store.Record{ID: day.Format(time.DateOnly), Data: bytes.Clone(salt)}); err != nil {
			return err
		}
		days[day] = daySalt{salt, of.since}
	}
	return nil
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
