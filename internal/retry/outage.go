package retry

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"time"
)

// Log writes the lines about events that are not accepted: at most one a minute for each reason.
// Its methods return functions that write, or nil, because a caller that holds a lock must not
// write.
type Log struct {
	To *slog.Logger
	Of string // what accepts events; "the API" if empty

	last    [NotAPI + 1]time.Time // when each reason was logged
	since   time.Time             // when one was logged first, since events were accepted
	suspect time.Time
}

func (l *Log) of() string { return cmp.Or(l.Of, "the API") }

// logEvery is the least time between two lines for the same reason.
const logEvery = time.Minute

// Began returns a line about events that are not accepted. If all is false, others are. The site and
// the name of an event are JSON texts, which the line has as plain text.
func (l *Log) Began(c Class, all bool, site, name string, err error, now time.Time) (line func()) {
	if now.Sub(l.last[c]) < logEvery {
		return nil
	}
	l.last[c] = now
	if l.since.IsZero() {
		l.since = now
	}
	if !all {
		return func() {
			l.To.Warn("footfall: "+l.of()+" does not accept events of this name or site; they are retried until the tracker closes, and others are sent", "site", plain(site), "name", plain(name), "error", err)
		}
	}
	return func() {
		switch c {
		case Later:
			l.To.Warn("footfall: "+l.of()+" does not accept events; they are retried until the tracker closes", "error", err)
		case Forbidden, KeyRefused:
			l.To.Error("footfall: the API refuses the key; events are held until it is accepted or the tracker closes", "error", err)
		default:
			l.To.Error("footfall: the server is not the Site Analytics API; events are held until it is or the tracker closes; check BaseURL", "error", err)
		}
	}
}

// plain returns the string that a JSON text is, or the text itself if it is none.
func plain(text string) (s string) {
	if json.Unmarshal([]byte(text), &s) != nil {
		return text
	}
	return s
}

// Ended returns a line about events that are accepted again.
func (l *Log) Ended(now time.Time) (line func()) {
	if l.since.IsZero() {
		return nil
	}
	after := now.Sub(l.since)
	l.since = time.Time{}
	return func() {
		l.To.Info("footfall: "+l.of()+" accepts events again", "after", after.Round(time.Millisecond))
	}
}

// Suspect returns a line about an event that keeps failing. Its site and name are JSON texts.
func (l *Log) Suspect(id, site, name string, err error, now time.Time) (line func()) {
	if now.Sub(l.suspect) < logEvery {
		return nil
	}
	l.suspect = now
	return func() {
		l.To.Warn("footfall: an event fails although "+l.of()+" accepts others; it is retried until the tracker closes", "id", id, "site", plain(site), "name", plain(name), "error", err)
	}
}
