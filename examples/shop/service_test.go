package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
	"github.com/footfall-dev/footfall/examples/shop/storefront"
)

// shopWithService is the whole main job in this process: shop, tracker, collector.
func shopWithService(t *testing.T, dir string) (*site, *service, func()) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	listener, err := listen("127.0.0.1:0")
	require.NoError(t, err)
	served, err := listen("127.0.0.1:0")
	require.NoError(t, err)
	service, err := openService(t.Context(), served, dir, urlOf(listener.Addr()), log, func(store.Event) {})
	require.NoError(t, err)
	site, err := openSite(t.Context(), listener, service, log)
	require.NoError(t, err)
	closed := make(chan error, 1)
	open, end := context.WithCancel(t.Context())
	go func() { closed <- site.serve(open, options{}, io.Discard) }()
	return site, service, func() {
		end()
		assert.NoError(t, <-closed)
		assert.NoError(t, service.close(context.Background()))
	}
}

// The collector uses methods of the SQLite store that store.Store does not have.
func TestTheStoreThatReportsEventsHasAllMethodsOfTheSQLiteStore(t *testing.T) {
	t.Parallel()
	wrapped, own := reflect.TypeFor[told](), reflect.TypeFor[*sqlite.Store]()
	for m := range own.Methods() {
		_, found := wrapped.MethodByName(m.Name)
		assert.True(t, found, m.Name)
	}
	_, scrubs := wrapped.MethodByName("Scrub")
	assert.True(t, scrubs, "the salts of past days")
}

func TestGoalsAndFunnelsCountCustomers(t *testing.T) {
	t.Parallel()
	site, service, end := shopWithService(t, t.TempDir())
	defer end()
	customers := newCustomers(site.url, 1, site.script, site.log)
	customers.thinking = 3 * time.Millisecond // pages a millisecond apart have an order
	buyer := plan{looksAt: []string{storefront.Catalog[0].Slug}, takes: 1}
	looker := plan{looksAt: []string{storefront.Catalog[0].Slug, storefront.Catalog[1].Slug}}
	customers.visit(t.Context(), slices.Values([]plan{buyer, buyer, looker}))
	require.NoError(t, site.tracker.Flush(t.Context()))
	require.NoError(t, site.orders.Flush(t.Context()))

	ctx, acc, st := t.Context(), service.collector.Account(), service.store
	q := store.Query{Site: service.site.ID, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}
	goals := acc.Goals(q.Site)
	require.Len(t, goals, 2)
	bought, err := storetest.Count(ctx, st, q, goals[0].Match)
	require.NoError(t, err)
	assert.Equal(t, "Bought something", goals[0].Name)
	assert.Equal(t, int64(2), bought.Count)
	assert.Zero(t, bought.Visitors, "the server knows no visitors")
	looked, err := storetest.Count(ctx, st, q, goals[1].Match)
	require.NoError(t, err)
	assert.Equal(t, int64(4), looked.Count)
	assert.Equal(t, int64(3), looked.Visitors)

	funnels := acc.Funnels(q.Site)
	require.Len(t, funnels, 2)
	pages, err := st.Funnel(ctx, q, funnels[0].Steps)
	require.NoError(t, err)
	assert.Equal(t, []int64{3, 3, 2, 2}, visitorsOf(pages))
	events, err := st.Funnel(ctx, q, funnels[1].Steps)
	require.NoError(t, err)
	assert.Equal(t, []store.FunnelStep{{Count: 4}, {Count: 2}, {Count: 2}, {Count: 2}}, events.Steps)
	assert.Equal(t, int64(10), events.Visitorless)
}

func visitorsOf(f store.Funnel) (visitors []int64) {
	for _, step := range f.Steps {
		visitors = append(visitors, step.Visitors)
	}
	return visitors
}

func TestDataInADirectoryOutlivesTheProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site, service, end := shopWithService(t, dir)
	get(t, site.url+"/")
	end()
	before := service.site

	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	served, err := listen("127.0.0.1:0")
	require.NoError(t, err)
	again, err := openService(t.Context(), served, dir, site.url, log, func(store.Event) {})
	require.NoError(t, err)
	defer func() { assert.NoError(t, again.close(context.Background())) }()
	assert.Equal(t, before, again.site)
	assert.Len(t, again.collector.Account().Goals(before.ID), 2)
	assert.Len(t, again.collector.Account().Keys(), 1)
	totals, err := storetest.Totals(t.Context(), again.store, store.Query{Site: before.ID, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	assert.Equal(t, int64(1), totals.Events)
}

func get(t *testing.T, address string) {
	t.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(address)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
}
