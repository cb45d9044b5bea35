package store

import (
	"context"
	"errors"
	"time"
)

// Ever returns a query of all events of a site.
func Ever(site string) Query {
	return Query{Site: site, From: time.UnixMilli(0), To: time.UnixMilli(1 << 47)} // until the year 6429
}

var errFirst = errors.New("store: the first event was found")

// First returns the time of the first event of a site, or the time otherwise if there is none.
func First(ctx context.Context, s EventStore, site string, otherwise time.Time) (time.Time, error) {
	at := otherwise
	err := s.Export(ctx, Ever(site), func(e Event) error {
		at = e.At
		return errFirst
	})
	if err != nil && !errors.Is(err, errFirst) {
		return otherwise, err
	}
	return at, nil
}
