package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// oneByOne lets several goroutines print lines: events arrive on several
// connections at once.
type oneByOne struct {
	mu  sync.Mutex
	out io.Writer
}

func (o *oneByOne) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.Write(line)
}

// arrivals prints events as they come to the API, one aligned line each.
type arrivals struct {
	out       io.Writer // takes lines from several goroutines
	nameWidth int
	pageWidth int
}

func newArrivals(out io.Writer, shopURL string) *arrivals {
	a := &arrivals{out: out}
	for _, r := range rules {
		a.nameWidth = max(a.nameWidth, len(r.Event))
	}
	for _, p := range catalog {
		a.pageWidth = max(a.pageWidth, len(shopURL+"/products/"+p.Slug))
	}
	return a
}

func (a *arrivals) print(e footfalltest.Event) {
	fmt.Fprintln(a.out, a.line(time.Now(), e))
}

func (a *arrivals) line(at time.Time, e footfalltest.Event) string {
	line := fmt.Sprintf("%s  %-*s  %-*s  %s", at.Format(time.TimeOnly), a.nameWidth, e.Name, a.pageWidth, e.URL, inOneLine(e.Props))
	return strings.TrimRight(line, " ")
}

// inOneLine writes props sorted by key, so that equal events look equal.
func inOneLine(props map[string]any) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(props)) {
		words = append(words, readable(key)+"="+readable(props[key]))
	}
	return strings.Join(words, " ")
}

// readable quotes what would blur the line, or do things to a terminal.
func readable(value any) string {
	text := fmt.Sprint(value)
	if number, ok := value.(float64); ok {
		text = strconv.FormatFloat(number, 'f', -1, 64) // not 1.2e+06
	}
	if text == "" || strings.ContainsFunc(text, unsightly) {
		return strconv.Quote(text)
	}
	return text
}

func unsightly(r rune) bool {
	return r == '=' || r == '"' || unicode.IsSpace(r) || !unicode.IsPrint(r)
}

// account says what became of the events, in one line. Of what should not happen
// it names only what did.
func account(s footfall.Stats) string {
	parts := []string{fmt.Sprintf("delivered %d", s.Delivered), fmt.Sprintf("lost %d", s.Dropped)}
	for _, rare := range []struct {
		name  string
		count uint64
	}{{"rejected", s.Rejected}, {"refused", s.Refused}, {"invalid", s.Invalid}} {
		if rare.count > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", rare.name, rare.count))
		}
	}
	return strings.Join(parts, ", ")
}
