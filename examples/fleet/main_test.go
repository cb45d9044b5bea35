package main

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

func TestWrongFlagsAreOneClearLine(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"unknown flag":     {"-port", "80"},
		"no traffic":       {"-traffic", "0"},
		"too much traffic": {"-traffic", "1000000"},
		"too short":        {"-for", "1s"},
		"no flag":          {"now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), args, io.Discard)
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestHelpIsNoError(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"-h"}, &out))
	assert.Contains(t, out.String(), "-traffic")
}

// numbered is an event of the collector.
func numbered(n int) store.Event {
	return store.Event{Name: "product_viewed", URL: withNumber("https://shop.example.com/products/cloud-mug", n)}
}

func TestAnEventHasANumber(t *testing.T) {
	t.Parallel()
	page := withNumber("https://shop.example.com/checkout", 12_034)
	assert.Equal(t, 12_034, numberOf("checkout_started", page))
	assert.Equal(t, 12_034, numberOf("order_placed", page))
	assert.Equal(t, 12_035, numberOf("checkout_completed", page), "of the same request")
	assert.Equal(t, -1, numberOf("checkout_completed", "https://shop.example.com/checkout"))
	assert.Equal(t, -1, numberOf("basket_viewed", page), "customers do not look")
	assert.Equal(t, 12_034, numberIn("stored 12034", "stored "))
	assert.Equal(t, -1, numberIn("12034", "stored "))
}

// ledgerOf returns the ledger of five events: one is fine; one was sent again and counted once;
// one of a killed shop was never Stored; one was not answered but arrived; one was not answered.
func ledgerOf() *ledger {
	a := &ledger{newest: -1}
	lives, dead := a.newRow("shop-1"), a.newRow("shop-2")
	for _, r := range []*row{lives, lives, dead, dead, dead} {
		a.send(r, 1)
	}
	for _, n := range []int{0, 1, 2} {
		a.update(n, func(e *event) { e.answered = true })
	}
	a.update(0, func(e *event) { e.stored = true })
	a.end(dead, true)
	for _, n := range []int{0, 1, 1, 3} {
		a.arrive(numbered(n))
	}
	for _, n := range []int{0, 1, 3} {
		a.count(numbered(n))
	}
	return a
}

func TestTheAccountTellsLossesApart(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, ledgerOf().print(&out))
	assert.Equal(t, `
                   tracked    Stored   arrived     twice      lost
shop-1                   2         2         2         0         0
shop-2, killed           2         1         1         0         1
all                      4         3         3         0         1

Stored and missing: 0. Counted twice: 0. Sent again, counted once: 1.
Lost before they were Stored, in the queue of the killed shop: 1.
Events of requests that got no answer from a shop: 2.
`, out.String())
}

func TestTheDocsShowTheAccount(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/stream.md")
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, ledgerOf().print(&out))
	for line := range strings.SplitSeq(out.String(), "\n") {
		assert.Contains(t, withoutFigures(string(docs)), withoutFigures(line))
	}
}

// withoutFigures replaces numbers and the spaces before them.
func withoutFigures(text string) string {
	return regexp.MustCompile(` *\d+`).ReplaceAllString(text, " 0")
}

func TestTheAccountFailsForWhatMustNotBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(a *ledger)
		want   string
	}{
		"a Stored event of a killed shop is missing": {
			func(a *ledger) { a.update(2, func(e *event) { e.stored = true }) }, "events that were Stored and are missing: 1",
		},
		"an event was counted twice": {func(a *ledger) { a.count(numbered(1)) }, "events that were counted twice: 1"},
		"a shop that lives lost an event": {
			func(a *ledger) { a.update(1, func(e *event) { e.arrived, e.counted = false, 0 }) }, "events that shops lost which were not killed: 1",
		},
		"an event has an unknown number": {func(a *ledger) { a.count(numbered(99)) }, "there is no event 99"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := ledgerOf()
			c.change(a)
			assert.EqualError(t, a.print(io.Discard), c.want)
		})
	}
}

func TestEventsUnderWayAreThoseThatWillArrive(t *testing.T) {
	t.Parallel()
	a := ledgerOf()
	assert.Zero(t, a.underWay(4))
	a.update(2, func(e *event) { e.stored = true })
	assert.Equal(t, 1, a.underWay(4))
	assert.Zero(t, a.underWay(1), "number 2 is later")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.True(t, errors.Is(a.awaitUpTo(ctx, 4), context.DeadlineExceeded))
	a.arrive(numbered(2))
	require.NoError(t, a.awaitUpTo(t.Context(), 4))
	require.NoError(t, a.awaitNewer(t.Context(), 2))
}
