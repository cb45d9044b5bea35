package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/examples/shop/storefront"
	"github.com/footfall-dev/footfall/outbox"
)

// oneByOne is a Writer for several goroutines, because events arrive on several
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
	for _, r := range storefront.Rules {
		a.nameWidth = max(a.nameWidth, len(r.Event))
	}
	for _, p := range storefront.Catalog {
		a.pageWidth = max(a.pageWidth, len(shopURL+"/products/"+p.Slug))
	}
	return a
}

func (a *arrivals) print(e store.Event) { fmt.Fprintln(a.out, a.line(e)) }

func (a *arrivals) line(e store.Event) string {
	name := cmp.Or(e.Name, "(pageview)") // of a browser
	line := fmt.Sprintf("%s  %-*s  %-*s  %s", e.At.Local().Format(time.TimeOnly), a.nameWidth, name, a.pageWidth, e.URL, inOneLine(e.Props))
	return strings.TrimRight(line, " ")
}

// inOneLine writes props sorted by key, so that equal events look equal.
func inOneLine(props []store.Prop) string {
	var words []string
	for _, p := range slices.SortedFunc(slices.Values(props), func(x, y store.Prop) int { return cmp.Compare(x.Key, y.Key) }) {
		words = append(words, readable(p.Key)+"="+readable(p.Value))
	}
	return strings.Join(words, " ")
}

// readable quotes texts that would make the line ambiguous or control the terminal.
func readable(text string) string {
	if text == "" || strings.ContainsFunc(text, unsightly) {
		return strconv.Quote(text)
	}
	return text
}

func unsightly(r rune) bool {
	return r == '=' || r == '"' || unicode.IsSpace(r) || !unicode.IsPrint(r)
}

// accountOf returns the counts of delivered and lost events as one line. It has other counts
// only if they are not zero. An event of an order is never lost: it waits in the database.
func accountOf(s footfall.Stats, orders outbox.Stats) string {
	parts := []string{fmt.Sprintf("delivered %d", s.Delivered+orders.Delivered), fmt.Sprintf("lost %d", s.Dropped)}
	for _, rare := range []struct {
		name  string
		count uint64
	}{{"rejected", s.Rejected + orders.Rejected}, {"refused", s.Refused}, {"invalid", s.Invalid + orders.Invalid}} {
		if rare.count > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", rare.name, rare.count))
		}
	}
	return strings.Join(parts, ", ")
}
