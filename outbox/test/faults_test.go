package test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/outbox/internal/relay"
	"github.com/footfall-dev/footfall/outbox/internal/rows"
)

var errDatabase = errors.New("the database is away")

// awayTable is a table whose calls fail now and then: before they have an effect, or after it, as if the answer was lost.
type awayTable struct {
	*memory
	mu    sync.Mutex
	rng   *rand.Rand
	share float64 // of calls that fail
}

// fails calls do, unless the call fails before. It returns the error of either.
func (f *awayTable) fails(do func() error) error {
	f.mu.Lock()
	before, after := f.rng.Float64() < f.share/2, f.rng.Float64() < f.share/2
	f.mu.Unlock()
	if before {
		return errDatabase
	}
	if err := do(); err != nil || !after {
		return err
	}
	return errDatabase
}

func (f *awayTable) mend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.share = 0
}

func (f *awayTable) Peek(ctx context.Context) (found bool, err error) {
	err = f.fails(func() (err error) { found, err = f.memory.Peek(ctx); return err })
	return found, err
}

func (f *awayTable) Claim(ctx context.Context, n int, again bool, lease time.Duration) (claimed []rows.Row, err error) {
	err = f.fails(func() (err error) { claimed, err = f.memory.Claim(ctx, n, again, lease); return err })
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

func (f *awayTable) Write(ctx context.Context, c *rows.Changes) error {
	return f.fails(func() error { return f.memory.Write(ctx, c) })
}

func (f *awayTable) Extend(ctx context.Context, ids []string, lease time.Duration) (all bool, err error) {
	err = f.fails(func() (err error) { all, err = f.memory.Extend(ctx, ids, lease); return err })
	return all, err
}

func (f *awayTable) Reject(ctx context.Context, all []rows.Rejection) error {
	return f.fails(func() error { return f.memory.Reject(ctx, all) })
}

// counter is an API that counts keys, and answers as chance has it until it is well.
type counter struct {
	mu   sync.Mutex
	rng  *rand.Rand
	well bool
	seen map[string]int // accepted requests, by Idempotency-Key
	told map[string]int // answers that end an event
	no   map[string]bool
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	key := r.Header.Get("Idempotency-Key")
	c.mu.Lock()
	defer c.mu.Unlock()
	status, body := http.StatusAccepted, ""
	switch roll := c.rng.IntN(10); {
	case c.no[key]:
		c.told[key]++
		status, body = http.StatusUnprocessableEntity, `{"error":"validation_failed","message":"no","status":422}`
	case c.well || roll < 6:
	case roll < 8:
		status = http.StatusServiceUnavailable
	case roll == 8:
		return nil, errors.New("connection reset")
	default:
		c.seen[key]++ // accepted, but nobody learns of it
		return nil, io.ErrUnexpectedEOF
	}
	if status == http.StatusAccepted {
		c.seen[key]++
		c.told[key]++
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// Whatever fails in the database and at the API, each row is delivered or rejected once both are well, with its id, and none stays.
func TestRowsSurviveADatabaseThatFails(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { failAtRandom(t, seed) })
		})
	}
}

func failAtRandom(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 25))
	var expired atomic.Int64
	table := &awayTable{memory: &memory{expired: &expired}, rng: rand.New(rand.NewPCG(seed, 1)), share: []float64{0.1, 0.8}[seed%2] * rng.Float64()}
	seldom, held := seed%2 == 0, 1+rng.IntN(64)
	if seldom { // then leases are extended in time, and no row makes room for others
		held = 256
	}
	api := &counter{rng: rand.New(rand.NewPCG(seed, 2)), seen: make(map[string]int), told: make(map[string]int), no: make(map[string]bool)}
	next, err := footfall.NewHTTPTransport(footfall.Config{
		APIKey: "sk_test", SiteID: "site_test", BaseURL: "https://api.example", HTTPClient: &http.Client{Transport: api},
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	r := relay.Start(relay.Config{
		Table: table, Next: next, Poll: time.Second, Lease: simulatedLease, Timeout: 5 * time.Second,
		MaxWait: 8 * simulatedLease, MaxHeld: held, MaxBody: 1 << 20, Logger: slog.New(slog.DiscardHandler),
	})
	ids := make([]string, 50+rng.IntN(100))
	for i := range ids {
		id := uuid.New()
		ids[i] = id.String()
		if rng.IntN(5) == 0 {
			api.mu.Lock()
			api.no[ids[i]] = true
			api.mu.Unlock()
		}
		table.insert(&footfall.Record{ID: footfall.EventID(id), Body: []byte(`{"site_id":"site_test","name":"paid","url":"https://shop.example/"}`)})
		if rng.IntN(10) == 0 {
			time.Sleep(time.Duration(rng.IntN(20_000)) * time.Millisecond)
			r.Wake()
		}
	}
	table.mend()
	api.mu.Lock()
	api.well = true
	api.mu.Unlock()
	time.Sleep(time.Hour) // longer than leases and waits
	ended, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, r.Close(ended))
	for _, s := range table.waiting {
		t.Errorf("row %s stays: rejected by the API %t, accepted %d, claims %d, due in %v", s.row.ID, api.no[s.row.ID], api.seen[s.row.ID], s.row.Claims, time.Until(s.due))
	}
	for _, id := range ids {
		assert.Equal(t, !api.no[id], api.seen[id] > 0, id)
		if seldom {
			assert.LessOrEqual(t, api.told[id], 1, "%s: what has ended is not sent again", id)
		}
	}
	stats := r.Stats()
	assert.Equal(t, stats.Claimed, stats.Repeated+stats.Delivered+stats.Rejected+stats.Returned+uint64(stats.Held), "%+v", stats)
}
