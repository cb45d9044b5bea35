//go:build ci

package outage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/bench/peers"
)

// Fake SDKs that lose events, block or lie; the experiment must detect them. They are variables
// because children start in an init function.
var _ = addForTests(
	fake{name: "forgetful", keep: func(n int) bool { return n%4 != 0 }},
	fake{name: "frank", keep: func(n int) bool { return n%4 != 0 }, tells: true},
	fake{name: "strict", refuse: func(n int) bool { return n%4 == 0 }},
	fake{name: "stammering", keep: func(int) bool { return true }, twice: true},
	fake{name: "hasty", keep: func(int) bool { return true }, noFlush: true},
	fake{name: "hollow", keep: func(int) bool { return true }, hollow: true},
	fake{name: "endless", keep: func(int) bool { return true }, hangs: true},
)

func addForTests(fakes ...fake) bool {
	for _, f := range fakes {
		forTests = append(forTests, f.contestant())
	}
	return true
}

// fake is an SDK that delivers at Close, or not at all.
type fake struct {
	name   string
	keep   func(n int) bool
	refuse func(n int) bool
	tells  bool
	twice  bool
	hangs  bool

	noFlush bool // drops waiting events at Close
	hollow  bool // like noFlush, with a Flush that does nothing
}

func (f fake) contestant() contestant {
	plain := plainFootfall()
	p := peers.Peer{Name: f.name, Module: footfallModule, Decode: plain.Decode, Answer: plain.Answer}
	p.Open = func(url string) (peers.Client, error) {
		inner, err := plain.Open(url)
		c := &fakeClient{fake: f, inner: inner}
		if f.tells {
			return frank{c}, err
		}
		return c, err
	}
	return contestant{Peer: p}
}

func plainFootfall() *contestant   { return known("Footfall") }
func spooledFootfall() *contestant { return known("Footfall spooled") }

func known(name string) *contestant {
	for _, c := range contestants() {
		if c.Name == name {
			return &c
		}
	}
	panic(name)
}

type fakeClient struct {
	fake
	inner peers.Client
	lost  int
}

func (c *fakeClient) Track(n int) error {
	if c.refuse != nil {
		if c.refuse(n) {
			return errors.New("full")
		}
		return c.inner.Track(n)
	}
	if !c.keep(n) {
		c.lost++
		return nil
	}
	if c.twice {
		_ = c.inner.Track(n)
	}
	return c.inner.Track(n)
}

func (c *fakeClient) Flush(ctx context.Context) error {
	switch {
	case c.noFlush:
		return peers.ErrNoFlush
	case c.hollow:
		return nil
	}
	return c.inner.Flush(ctx)
}

func (c *fakeClient) Close(ctx context.Context) error {
	if c.hangs {
		select {}
	}
	if c.noFlush || c.hollow {
		return nil
	}
	return c.inner.Close(ctx)
}

type frank struct{ *fakeClient }

func (c frank) Lost() int       { return c.lost }
func (c frank) Complaints() int { return 7 }

// tiny is one second of outage and 200 events.
var tiny = scenario{
	title: "tiny", mood: refusing, heals: true,
	rate: 200, load: time.Second,
	flush: 10 * time.Second, close: 10 * time.Second, giveUp: 2 * time.Second,
}

func TestFootfallLosesNothingInAnOutageOfASecond(t *testing.T) {
	t.Parallel()
	for _, c := range []*contestant{plainFootfall(), spooledFootfall()} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			a, err := trial(t.Context(), &tiny, c)
			require.NoError(t, err)
			assert.Equal(t, 200, a.tracked)
			assert.Equal(t, 200, a.delivered, "%+v", a)
			assert.Zero(t, a.refused)
			assert.Zero(t, a.lost())
			assert.Zero(t, a.duplicated)
			assert.GreaterOrEqual(t, a.requests, 200)
			assert.Positive(t, a.result.Goroutines)
			assert.Positive(t, a.result.RSSBefore)
			assert.Greater(t, a.result.RSS, a.result.RSSBefore)
			assert.True(t, a.result.Back)
			assert.Empty(t, tiny.brokenPromises([]account{a}))
		})
	}
}

func TestLossesAndDuplicatesOfAnSDKAreDetected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                                       string
		refused, delivered, lost, told, duplicated int
	}{
		{name: "forgetful", delivered: 150, lost: 50},
		{name: "frank", delivered: 150, told: 50},
		{name: "strict", delivered: 150, refused: 50},
		{name: "stammering", delivered: 200, duplicated: 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := try(t, tt.name, &tiny)
			assert.Equal(t, 200, a.tracked)
			assert.Equal(t, tt.refused, a.refused)
			assert.Equal(t, tt.delivered, a.delivered)
			assert.Equal(t, tt.lost, a.lost())
			assert.Equal(t, tt.told, a.result.SaidLost)
			assert.Equal(t, tt.duplicated, a.duplicated)
			assert.Equal(t, tt.lost > 0, len(tiny.brokenPromises([]account{a})) > 0, "said of one that is bound by our promise")
		})
	}
}

func TestAnSDKWithoutFlushHasItsTimeBeforeItIsClosed(t *testing.T) {
	t.Parallel()
	a := try(t, "hasty", &tiny)
	assert.Equal(t, 200, a.delivered)
	assert.Less(t, a.alone, tiny.flush, "no longer than it takes")
	assert.Contains(t, tiny.row(&a), fmt.Sprintf("none; %.2f alone", a.alone.Seconds()))
}

func TestAnSDKHasTimeForRetriesAfterItsFlush(t *testing.T) {
	t.Parallel()
	a := try(t, "hollow", &tiny)
	assert.Equal(t, 200, a.delivered)
	assert.Positive(t, a.alone)
	a.result.Flush, a.alone = time.Second, 250*time.Millisecond
	assert.Contains(t, tiny.row(&a), "1; 0.25 alone")
	a.alone = 100 * time.Millisecond // no longer than a look at what has arrived
	assert.Contains(t, tiny.row(&a), 1.0)
}

func TestErrorsWithoutANumberOfEventsAreReported(t *testing.T) {
	t.Parallel()
	a := try(t, "frank", &tiny)
	assert.Contains(t, strings.Join(tiny.notes([]account{a}), "\n"), "frank: its error handler was called 7 times")
}

func TestACloseThatDoesNotReturnIsGivenUp(t *testing.T) {
	t.Parallel()
	a := try(t, "endless", &tiny)
	assert.False(t, a.result.Back)
	assert.Contains(t, tiny.row(&a), "not back after 2")
}

func TestFootfallLosesNothingInAnyMoodOfTheServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		mood mood
	}{{"hanging", hanging}, {"limiting", limiting}, {"failing once", failingOnce}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tiny
			s.mood = tt.mood
			a, err := trial(t.Context(), &s, plainFootfall())
			require.NoError(t, err)
			assert.Equal(t, 200, a.delivered, "%+v", a)
			assert.Greater(t, a.requests, 200)
		})
	}
}

func TestLossesReportedByCloseCountAsReported(t *testing.T) {
	t.Parallel()
	s := tiny
	s.heals, s.flush, s.close = false, 0, 100*time.Millisecond
	a, err := trial(t.Context(), &s, plainFootfall())
	require.NoError(t, err)
	assert.Equal(t, 200, a.result.SaidLost)
	assert.Zero(t, a.lost())
	assert.Zero(t, a.delivered)
	assert.NotEmpty(t, s.notes([]account{a}), "with the words of Close")
}

func TestEventsOnDiskAreDeliveredByTheNextProcess(t *testing.T) {
	t.Parallel()
	s := tiny
	s.heals, s.flush, s.close = false, 0, 100*time.Millisecond
	a, err := trial(t.Context(), &s, spooledFootfall())
	require.NoError(t, err)
	assert.Equal(t, 200, a.delivered, "%+v", a)
	assert.Equal(t, 200, a.afterRestart)
	assert.Zero(t, a.lost())
}

func TestAKillIsSeenInTheAccount(t *testing.T) {
	t.Parallel()
	forgetful, err := findContestant("forgetful")
	require.NoError(t, err)
	a, err := killTrial(t.Context(), &killed, forgetful, 1500*time.Millisecond)
	require.NoError(t, err)
	assert.Greater(t, a.tracked, 1000)
	assert.Less(t, a.tracked, killed.events())
	assert.GreaterOrEqual(t, a.missing, a.tracked/4, "every fourth was thrown away")
}

func TestEventsOnDiskAtAKillArriveAfterARestart(t *testing.T) {
	t.Parallel()
	s := killed
	s.mood = refusing
	a, err := killTrial(t.Context(), &s, spooledFootfall(), 1500*time.Millisecond)
	require.NoError(t, err)
	assert.Positive(t, a.delivered, "%+v", a)
	assert.Equal(t, a.delivered, a.afterRestart)
	assert.Equal(t, a.tracked, a.refused+a.delivered+a.missing)
}

func TestRequestsThatDoNotWaitAreCounted(t *testing.T) {
	t.Parallel()
	s := &server{}
	at := func(d time.Duration) { s.limit(time.Unix(1_000_000, 0).Add(d)) }
	at(0)
	at(burst)
	assert.Zero(t, s.counts.hurried, "it was under way when the first was answered")
	at(time.Second)
	at(patience - 1)
	assert.Equal(t, 2, s.counts.hurried)
	at(patience)
	assert.Equal(t, 2, s.counts.hurried, "it has waited")
}

func TestAPortRefusesUntilItIsOpened(t *testing.T) {
	t.Parallel()
	s, err := newServer(plainFootfall(), refusing)
	require.NoError(t, err)
	defer s.close()
	get := func() error {
		resp, err := http.Get(s.port.url())
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	require.ErrorContains(t, get(), "connection refused")
	require.NoError(t, s.heal())
	require.NoError(t, get())
}

func TestTheLedgerIsSharedMemory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger")
	mine, err := newLedger(path, 3)
	require.NoError(t, err)
	defer mine.close()
	theirs, err := openLedger(path)
	require.NoError(t, err)
	defer theirs.close()
	theirs.note(1, nil)
	theirs.note(3, os.ErrClosed)
	assert.Equal(t, ledger{untouched, taken, untouched, refused}, mine)
}

func try(t *testing.T, name string, s *scenario) account {
	t.Helper()
	c, err := findContestant(name)
	require.NoError(t, err)
	a, err := trial(t.Context(), s, c)
	require.NoError(t, err)
	return a
}
