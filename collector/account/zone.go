package account

import (
	"cmp"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for machines without time zones
)

// zones has the time zones that sites have, by name.
var zones sync.Map

// zoneOf returns the time zone with a name of the IANA database.
func zoneOf(name string) (*time.Location, error) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	zones.Store(name, zone)
	return zone, nil
}

// Location returns the time zone of the site's days. It is UTC if this version does not know Zone.
func (s Site) Location() *time.Location {
	zone, err := zoneOf(s.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// cleanZone returns the name of a time zone, "" for UTC.
func cleanZone(name string) (string, error) {
	name = strings.TrimSpace(name)
	zone, err := zoneOf(cmp.Or(name, "UTC"))
	switch {
	case err != nil || zone == time.Local:
		return "", &FieldError{"zone", "must be the name of a time zone, such as Europe/Berlin or UTC"}
	case zone == time.UTC:
		return "", nil
	}
	return zone.String(), nil
}
