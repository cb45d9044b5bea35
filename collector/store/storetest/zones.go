package storetest

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// RandomZone returns nil, or a zone whose clocks change up to three times between two times: by minutes, hours, or a whole day.
// Its offsets are quarters of an hour, from -12:00 to 14:00.
func RandomZone(rng *rand.Rand, from, to time.Time) *time.Location {
	if rng.IntN(3) == 0 {
		return nil
	}
	const least, most = -12 * 4, 14 * 4
	offset := pick(rng, 0, 0, least+rng.IntN(most-least+1))
	offsets := []int{offset}
	var changes []time.Time
	for at := between(rng, from, to); len(changes) < 3 && at.Before(to); at = at.Add(72*time.Hour + time.Duration(rng.IntN(72))*time.Hour) {
		next := offset + pick(rng, -96, -96, -4, -4, -2, -1, 1, 2, 4, 4, 96, 96)
		if next < least || next > most {
			continue
		}
		offset = next
		changes = append(changes, at.Truncate(quarter))
		offsets = append(offsets, offset)
	}
	return zoneOf(changes, offsets)
}

// zoneOf returns a zone with offsets in quarters of an hour before, between and after some changes.
func zoneOf(changes []time.Time, offsets []int) *time.Location {
	data := append([]byte("TZif"), make([]byte, 16)...) // RFC 9636, section 3.2, version 1
	for _, count := range []int{0, 0, 0, len(changes), len(offsets), 2} {
		data = binary.BigEndian.AppendUint32(data, uint32(count))
	}
	for _, at := range changes {
		data = binary.BigEndian.AppendUint32(data, uint32(at.Unix()))
	}
	for i := range changes {
		data = append(data, byte(i+1))
	}
	for _, offset := range offsets {
		data = append(binary.BigEndian.AppendUint32(data, uint32(int32(offset*15*60))), 0, 0)
	}
	zone, err := time.LoadLocationFromTZData("Random/Zone", slices.Concat(data, []byte("Z\x00")))
	if err != nil {
		panic(err)
	}
	return zone
}

var zoned = []promise{
	{"figures of days whose clocks change are those of the reference", func(f *fixture) {
		ref := NewReference()
		ref.Now = f.clock.now
		events := RandomEvents(rand.New(rand.NewPCG(4, 0)), 400, at(0, 0), at(3, 0))
		events = append(events, pageview(at(1, 0).Add(2*quarter), 1, "/"), pageview(at(1, 2), 1, "/"))
		for _, e := range events {
			f.add(e)
			Add(f, ref, e)
		}
		for _, zone := range []*time.Location{
			zoneOf([]time.Time{at(1, 1)}, []int{0, -4}),                            // a UTC day and one more hour
			zoneOf([]time.Time{at(1, 5), at(1, 15)}, []int{0, 2, 0}),               // a UTC day of other hours
			zoneOf([]time.Time{at(1, 0).Add(quarter), at(2, 12)}, []int{0, -4, 0}), // a date that returns for an hour
			zoneOf([]time.Time{at(1, 0)}, []int{0, 4}),                             // no midnight
			zoneOf([]time.Time{at(1, 6)}, []int{-40, 56}),                          // a day that is left out
		} {
			for _, q := range []store.Query{days(0, 3), days(1, 2), {Site: "s", From: at(0, 7), To: at(2, 9)}, {Site: "s", From: at(1, 0).Add(quarter), To: at(3, 0)}} {
				q.Zone = zone
				Compare(f.T, ref, f.Store, q)
			}
		}
	}},
}
