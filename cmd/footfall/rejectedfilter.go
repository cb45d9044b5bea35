package main

import (
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
	"github.com/footfall-dev/footfall/stream"
)

// filter chooses rejected events. The zero value chooses all.
type filter struct {
	site, code string
	since      time.Time
	limit      int
}

func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "site", Usage: "only events of the site with this `ID`"},
		&cli.StringFlag{Name: "code", Usage: "only events that the API rejected with this `CODE`, such as not_found or 404"},
		&cli.StringFlag{Name: "since", Usage: "only events that were rejected in the last `DURATION`, such as 2h"},
		&cli.StringFlag{Name: "limit", Usage: "at most `NUMBER` events, the oldest ones"},
	}
}

// readFilter reads the flags of filterFlags.
func readFilter(v *shell.Values, now time.Time) filter {
	f := filter{site: v.String("site"), code: v.String("code"), limit: v.Number("limit", "a number above zero")}
	if d := v.Duration("since", false); d > 0 {
		f.since = now.Add(-d)
	}
	return f
}

func (f *filter) matches(e *stream.Rejected) bool {
	if f.site != "" {
		if body, ok := shell.ParseEvent(e.Body); !ok || body.SiteID != f.site {
			return false
		}
	}
	return (f.code == "" || f.code == e.Code || f.code == strconv.Itoa(e.Status)) && !e.Time.Before(f.since)
}

// chosen yields the rejected events that the flags choose, oldest first.
func (r *rejections) chosen(ctx context.Context) iter.Seq2[stream.Rejected, error] {
	return func(yield func(stream.Rejected, error) bool) {
		n := 0
		for e, err := range r.stored.All(ctx) {
			if err == nil && !r.filter.matches(&e) {
				continue
			}
			if n++; !yield(e, err) || n == r.filter.limit {
				return
			}
		}
	}
}
