package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
	"github.com/footfall-dev/footfall/examples/shop/storefront"
)

// textOf returns an event as text, without what differs between two visits with the same plan.
func textOf(e store.Event) string {
	e.At, e.Key = time.Time{}, ""
	e.Visitor = min(e.Visitor, 1)
	e.URL, _, _ = strings.Cut(e.URL, "?order=")
	return fmt.Sprintf("%+v", e)
}

func TestHistoryHasTheEventsOfRealVisits(t *testing.T) {
	t.Parallel()
	site, service, end := shopWithService(t, t.TempDir())
	defer end()
	customers := newCustomers(site.url, 1, site.script, site.log)
	customers.thinking = time.Millisecond
	plans := []plan{
		{browser: 0, source: "newsletter", looksAt: []string{storefront.Catalog[0].Slug, storefront.Catalog[1].Slug}, takes: 2, coupon: "SLOWDOWN"},
		{browser: 1, from: "https://search.example/", looksAt: []string{storefront.Catalog[2].Slug}, takes: 1, payment: storefront.Declined},
		{browser: 2, looksAt: []string{storefront.Catalog[3].Slug}},
		{browser: 2, source: "ads", deep: true, looksAt: []string{storefront.Catalog[5].Slug}, takes: 1},
		{browser: 1, from: "https://www.slow-living.example/shops", looksAt: []string{storefront.Catalog[2].Slug}, takes: 1},
		{browser: 3, looksAt: []string{storefront.Catalog[4].Slug}, takes: 1, leaves: true},
	}
	customers.visit(t.Context(), slices.Values(plans))
	require.NoError(t, site.tracker.Flush(t.Context()))
	require.NoError(t, site.orders.SettleBefore(t.Context(), time.Now().Add(time.Second)))
	require.NoError(t, site.orders.Flush(t.Context()))

	var real, made []string
	q := store.Query{Site: service.site.ID, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}
	require.NoError(t, service.store.Export(t.Context(), q, func(e store.Event) error {
		real = append(real, textOf(e))
		return nil
	}))
	h := &history{site: service.site.ID, url: site.url, now: time.Now(), dice: newDice(1)}
	for _, p := range plans {
		assert.True(t, h.visit(time.Now().Add(-2*time.Hour), p, func(e store.Event) bool {
			made = append(made, textOf(e))
			return true
		}))
	}
	slices.Sort(real)
	slices.Sort(made)
	assert.Equal(t, real, made)
}

func TestHistoryIsTheSameEachTimeAndEndsNow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 15, 30, 0, 0, time.UTC)
	var runs [2][]store.Event
	for i := range runs {
		h := &history{site: "s", url: "http://127.0.0.1:8080", now: now, dice: newDice(1)}
		runs[i] = slices.Collect(h.events(29))
	}
	require.Equal(t, runs[0], runs[1])
	perHour, perWeekday := [24]int{}, [7]int{}
	first := now.Truncate(24*time.Hour).AddDate(0, 0, -28)
	for _, e := range runs[0] {
		require.False(t, e.At.After(now) || e.At.Before(first), "%v", e.At)
		if e.At.Before(now.Truncate(24 * time.Hour)) { // four whole weeks
			perHour[e.At.Hour()]++
			perWeekday[e.At.Weekday()]++
		}
	}
	assert.Greater(t, perHour[20], 5*perHour[3], "few people shop at night")
	assert.Greater(t, perWeekday[time.Sunday], perWeekday[time.Tuesday], "people shop at the weekend")
	for day, n := range perWeekday {
		assert.Greater(t, n, 1000, time.Weekday(day))
	}
}

func TestHistoryIsAddedOnce(t *testing.T) {
	t.Parallel()
	site, service, end := shopWithService(t, t.TempDir())
	defer end()
	today := time.Now().UTC().Truncate(24 * time.Hour)
	q := store.Query{Site: service.site.ID, From: today.AddDate(0, 0, -10), To: today.AddDate(0, 0, 1)}
	require.NoError(t, service.fill(t.Context(), site.url, 0))
	before, err := storetest.Totals(t.Context(), service.store, q)
	require.NoError(t, err)
	assert.Zero(t, before)

	require.NoError(t, service.fill(t.Context(), site.url, 3))
	points, err := storetest.Series(t.Context(), service.store, q, store.Day)
	require.NoError(t, err)
	for i, p := range points {
		if i < 8 {
			assert.Zero(t, p.Totals, p.At)
		} else if i < 10 {
			assert.Greater(t, p.Visitors, int64(50), p.At)
			assert.Greater(t, p.Pageviews, p.Visitors, p.At)
			assert.Greater(t, p.Events, p.Visitors, p.At)
		}
	}
	filled, err := storetest.Totals(t.Context(), service.store, q)
	require.NoError(t, err)
	require.NoError(t, service.fill(t.Context(), site.url, 3))
	again, err := storetest.Totals(t.Context(), service.store, q)
	require.NoError(t, err)
	assert.Equal(t, filled, again)
}

func TestHistoryIsInDays(t *testing.T) {
	t.Parallel()
	opts, err := parseOptions([]string{"-history", "30d"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, 30, opts.history)
	for _, text := range []string{"30", "0d", "-1d", "401d", "d", "12h"} {
		_, err := parseOptions([]string{"-history", text}, io.Discard)
		assert.ErrorContains(t, err, "-history: must be from 1d to 400d", text)
	}
}
