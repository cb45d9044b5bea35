package simulation

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// trace records events of a simulation. It formats them only when printed.
type trace struct {
	began time.Time

	mu    sync.Mutex
	lines []line
}

type line struct {
	at     time.Duration
	event  int // none if negative
	format string
	args   []any
}

// none stands for no single event.
const none = -1

func (t *trace) now() time.Duration { return time.Since(t.began) }

// add adds a line about event n, or none.
func (t *trace) add(n int, format string, args ...any) {
	at := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line{at, n, format, args})
}

// last formats the last n lines up to a time.
func (t *trace) last(n int, until time.Duration) string {
	return t.format(n, func(l line) bool { return l.at <= until })
}

// of formats the last n lines about one event.
func (t *trace) of(event, n int) string {
	return t.format(n, func(l line) bool { return l.event == event })
}

func (t *trace) format(n int, wanted func(line) bool) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var chosen []line
	for _, l := range t.lines {
		if wanted(l) {
			chosen = append(chosen, l)
		}
	}
	var text strings.Builder
	if left := len(chosen) - n; left > 0 {
		fmt.Fprintf(&text, "    (%d lines before)\n", left)
		chosen = chosen[left:]
	}
	for _, l := range chosen {
		fmt.Fprintf(&text, "    %12v  %s\n", l.at.Round(time.Microsecond), fmt.Sprintf(l.format, l.args...))
	}
	return text.String()
}
