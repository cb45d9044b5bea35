//go:build ci

package main

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

const (
	orderRounds = 6
	buyers      = 32 // at once
)

// The shop and its collector are killed as soon as some orders are answered, while others are being placed. After the
// last start each order has both its events, once, with the campaign and the landing page of its visit.
func TestEveryOrderHasItsEventsAndItsCampaignAfterAKill(t *testing.T) {
	binary, dir := build(t), t.TempDir()
	addresses := []string{"-listen", "127.0.0.1:0", "-collector", "127.0.0.1:0"}
	open := func() *program {
		p := startBinary(t, 5*time.Minute, binary, append(addresses, "-data", dir)...)
		addresses[1] = p.line(`^Murrowby is open at  http://(\S+)$`) // the next one has the same address, and so the same site
		return p
	}
	waiting := make(map[string]bool) // IDs of events
	for round := range orderRounds {
		p := open()
		answered := make(chan struct{}, buyers)
		var buying sync.WaitGroup
		for buyer := range buyers {
			buying.Go(func() {
				if buyCloudMug("http://"+addresses[1], fmt.Sprintf("letter-%d-%d", round, buyer)) {
					answered <- struct{}{}
				}
			})
		}
		for range 1 + 2*round {
			<-answered
		}
		require.NoError(t, p.cmd.Process.Kill()) // SIGKILL
		buying.Wait()
		for p.out.Scan() {
		}
		_ = p.cmd.Wait() // it was killed
		for _, id := range column(t, dir, "SELECT id FROM footfall_outbox WHERE CAST(body AS TEXT) LIKE '%order_placed%'") {
			waiting[id] = true
		}
	}
	require.NotEmpty(t, waiting, "no kill left an event that was committed and not delivered")

	p := open()
	require.Eventually(t, func() bool { // events that the killed process was delivering, after their lease of 30 s
		return len(column(t, dir, "SELECT id FROM footfall_outbox UNION ALL SELECT number FROM orders WHERE paid IS NULL")) == 0
	}, 2*time.Minute, 200*time.Millisecond)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.end()
	placed, paid := eventsOfOrders(t, dir)
	orders := column(t, dir, "SELECT amount || ' ' || touch FROM orders")
	for i, order := range orders {
		amount, touch, _ := strings.Cut(order, " ")
		orders[i] = amount + " " + campaignOf(t, touch)
	}
	require.GreaterOrEqual(t, len(orders), orderRounds)
	t.Logf("%d orders, of which %d were committed and not delivered when the shop was killed", len(orders), len(waiting))
	assert.ElementsMatch(t, orders, placed, "order_placed")
	assert.ElementsMatch(t, orders, paid, "order_paid")
	assert.Empty(t, column(t, dir, "SELECT id FROM footfall_outbox_rejected"))
}

// buyCloudMug sends the form of the checkout, and reports whether the order was answered.
func buyCloudMug(shop, campaign string) bool {
	r, err := http.NewRequest(http.MethodPost, shop+"/checkout", nil)
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: "basket", Value: "cloud-mug=1"})
	r.AddCookie(&http.Cookie{Name: "touch", Value: fmt.Sprintf("at=%d&landing=/sale&utm_source=newsletter&utm_campaign=%s", time.Now().Unix(), campaign)})
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return false // the shop was killed
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusSeeOther
}

// column returns the first column of a query of the shop's database.
func column(t *testing.T, dir, query string) (all []string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "shop.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		all = append(all, text)
	}
	require.NoError(t, rows.Err())
	return all
}

// eventsOfOrders returns the amounts and campaigns of the events that the collector has stored.
func eventsOfOrders(t *testing.T, dir string) (placed, paid []string) {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(dir, "footfall.db")})
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close()) }()
	sites, err := st.Sites(t.Context())
	require.NoError(t, err)
	for _, site := range sites {
		q := store.Query{Site: site, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}
		require.NoError(t, st.Export(t.Context(), q, func(e store.Event) error {
			if !strings.HasPrefix(e.Name, "order_") {
				return nil
			}
			u, err := url.Parse(e.URL)
			require.NoError(t, err)
			of := make(map[string]string)
			for _, p := range e.Props {
				of[p.Key] = p.Value
			}
			text := of["amount"] + " " + campaignOf(t, u.RawQuery+"&landing="+of["landing"])
			if e.Name == "order_placed" {
				placed = append(placed, text)
			} else {
				paid = append(paid, text)
			}
			return nil
		}))
	}
	return placed, paid
}

// campaignOf returns the campaign in a query, and the landing page if it has one.
func campaignOf(t *testing.T, query string) string {
	t.Helper()
	q, err := url.ParseQuery(query)
	require.NoError(t, err)
	return strings.Join([]string{q.Get("utm_source"), q.Get("utm_medium"), q.Get("utm_campaign"), q.Get("ref"), q.Get("landing")}, " ")
}
