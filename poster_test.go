package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// posting is a Poster made of a function.
type posting struct {
	post func(ctx context.Context, r footfall.Record, a *footfall.Answer) error

	mu     sync.Mutex
	closed int
	late   bool // Post ran after Close
}

func (p *posting) Post(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
	err := p.post(ctx, r, a)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = p.late || p.closed > 0
	return err
}

func (p *posting) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed++
}

func postAccepted(_ context.Context, _ footfall.Record, a *footfall.Answer) error {
	a.Status = 202
	a.Body = append(a.Body, `{"accepted":true}`...)
	return nil
}

// onPoster returns a tracker that posts with p.
func onPoster(t testing.TB, p *posting, change ...func(*footfall.Config)) *footfall.Tracker {
	t.Helper()
	cfg := footfall.Config{BaseURL: "https://api.example.com", APIKey: testKey, SiteID: "s", DefaultURL: "https://example.com/"}
	quiet(&cfg)
	for _, c := range change {
		c(&cfg)
	}
	var err error
	cfg.Transport, err = footfall.NewPostingTransport(cfg, func(footfall.Config) (footfall.Poster, error) { return p, nil })
	require.NoError(t, err)
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	return tracker
}

func TestNewPostingTransportNeedsAFunction(t *testing.T) {
	t.Parallel()
	_, err := footfall.NewPostingTransport(footfall.Config{BaseURL: "https://api.example.com", APIKey: testKey}, nil)
	assert.EqualError(t, err, "footfall: NewPostingTransport needs a function that returns a Poster")
}

func TestPosterIsOpenedOnceWithACheckedConfigAndDefaults(t *testing.T) {
	t.Parallel()
	opened := 0
	open := func(cfg footfall.Config) (footfall.Poster, error) {
		opened++
		assert.Equal(t, 5*time.Second, cfg.AttemptTimeout)
		assert.Equal(t, 64, cfg.MaxInFlight)
		return &posting{}, nil
	}
	_, err := footfall.NewPostingTransport(footfall.Config{APIKey: testKey}, open)
	assert.ErrorContains(t, err, "Config.BaseURL")
	assert.Zero(t, opened)
	_, err = footfall.NewPostingTransport(footfall.Config{BaseURL: "https://api.example.com", APIKey: testKey}, open)
	require.NoError(t, err)
	assert.Equal(t, 1, opened)
}

func TestPosterThatCannotBeOpenedIsAnError(t *testing.T) {
	t.Parallel()
	cfg := footfall.Config{BaseURL: "https://api.example.com", APIKey: testKey}
	broken := errors.New("no socket")
	_, err := footfall.NewPostingTransport(cfg, func(footfall.Config) (footfall.Poster, error) { return nil, broken })
	assert.ErrorIs(t, err, broken)
	_, err = footfall.NewPostingTransport(cfg, func(footfall.Config) (footfall.Poster, error) { return nil, nil })
	assert.ErrorContains(t, err, "no Poster")
}

func TestPosterIsClosedOnceAndAfterTheLastPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &posting{post: postAccepted}
		tracker := onPoster(t, p)
		track(t, tracker, 500)
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Equal(t, uint64(500), tracker.Stats().Delivered)
		assert.Equal(t, []any{1, false}, []any{p.closed, p.late})
	})
}

func TestPosterIsNotClosedWhileAPostRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &posting{post: func(ctx context.Context, _ footfall.Record, _ *footfall.Answer) error {
			<-ctx.Done()
			time.Sleep(10 * time.Millisecond)
			return ctx.Err()
		}}
		tracker := onPoster(t, p)
		track(t, tracker, 50)
		require.Error(t, closeWithin(tracker, time.Second))
		assert.Equal(t, []any{1, false}, []any{p.closed, p.late})
	})
}

// A Poster may therefore register once for the end of the context.
func TestEveryPostHasTheSameContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := make(map[context.Context]bool)
		p := &posting{post: func(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
			mu.Lock()
			defer mu.Unlock()
			seen[ctx] = true
			if len(seen) == 1 {
				return errors.New("once more")
			}
			return postAccepted(ctx, r, a)
		}}
		tracker := onPoster(t, p)
		track(t, tracker, 20)
		time.Sleep(time.Minute)
		_ = closeWithin(tracker, time.Second)
		assert.Len(t, seen, 1)
	})
}

func TestPanicInAPosterIsAFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := 3
		p := &posting{post: func(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
			if panics--; panics >= 0 {
				panic("with " + testKey)
			}
			return postAccepted(ctx, r, a)
		}}
		j := &journal{}
		tracker := onPoster(t, p, j.into, func(c *footfall.Config) { c.MaxInFlight = 1 })
		track(t, tracker, 2)
		require.NoError(t, tracker.Flush(t.Context()))
		assert.Equal(t, uint64(2), tracker.Stats().Delivered)
		assert.Contains(t, j.String(), "panic in the Poster")
		assert.NotContains(t, j.String(), testKey)
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

func TestErrorsOfAPosterNeverHoldTheKey(t *testing.T) {
	secret := errors.New("sent Bearer " + testKey)
	for name, post := range map[string]func(context.Context, footfall.Record, *footfall.Answer) error{
		"error": func(context.Context, footfall.Record, *footfall.Answer) error { return secret },
		"cut": func(_ context.Context, _ footfall.Record, a *footfall.Answer) error {
			a.Status, a.Cut, a.Body = 404, secret, append(a.Body, testKey...)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &journal{}
				tracker := onPoster(t, &posting{post: post}, j.into)
				track(t, tracker, 2)
				time.Sleep(time.Minute)
				err := closeWithin(tracker, time.Second)
				require.Error(t, err)
				fmt.Fprintf(j, "%v %+v %#v", err, err, err)
				assert.NotContains(t, j.String(), testKey)
				assert.Contains(t, j.String(), "[key]")
			})
		})
	}
}

func TestAnswerIsReadUpTo16KiB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &posting{post: func(_ context.Context, _ footfall.Record, a *footfall.Answer) error {
			a.Status = 202
			a.Body = append(a.Body, strings.Repeat(" ", 16<<10)+`{"accepted":false}`...)
			return nil
		}}
		tracker := onPoster(t, p)
		track(t, tracker, 1)
		require.NoError(t, tracker.Flush(t.Context()))
		assert.Equal(t, uint64(1), tracker.Stats().Delivered)
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// The answer's buffer is reused, without the contents of earlier answers.
func TestAnswerIsEmptyForEveryPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := &posting{post: func(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
			assert.Equal(t, footfall.Answer{Body: a.Body[:0]}, *a)
			if n++; n == 1 {
				a.Status, a.RetryAfter, a.Cut, a.Body = 503, "1", errors.New("cut"), append(a.Body, "busy"...)
				return nil
			}
			return postAccepted(ctx, r, a)
		}}
		tracker := onPoster(t, p, func(c *footfall.Config) { c.MaxInFlight = 1 })
		track(t, tracker, 3)
		require.NoError(t, tracker.Flush(t.Context()))
		assert.Equal(t, 4, n)
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}
