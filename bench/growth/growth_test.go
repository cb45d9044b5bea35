//go:build ci

package growth

import (
	"context"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/bench/report"
	"github.com/footfall-dev/footfall/bench/settler"
)

const brief = 50 * time.Millisecond

func TestEveryCellHasItsFiguresAndThePlotIsAPicture(t *testing.T) {
	paced := paced([]int{1_000, 10_000}, brief)
	tight := tight([]int{1, 4}, brief)
	s, err := runAll(t.Context(), report.Options{Rounds: 2, Log: t.Logf}, paced, tight)
	require.NoError(t, err)
	require.Equal(t, "F", s.ID)
	require.Len(t, s.Tables[0].Rows, len(paced)+len(tight))
	for _, row := range s.Tables[0].Rows {
		require.Len(t, row, len(s.Tables[0].Columns))
		require.Positive(t, row[4], "ns per event")
		require.Positive(t, row[10], "peak RSS")
	}
	picture := s.Plots["growth.svg"]
	requireXML(t, picture)
	for _, word := range []string{"1 prop<", "30 props<", "target: 1.3"} {
		require.Contains(t, picture, word)
	}
	require.NotContains(t, picture, "NaN")
}

func requireXML(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := d.Token()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
	}
}

// linear returns figures of a linear cost.
func linear(paced []cell, base, each float64) figures {
	f := make(figures)
	for _, c := range paced {
		f[c] = []*result{{Cost: base + each*float64(c.Props)}}
	}
	return f
}

func TestLinearCostIsDistinguishedFromOthers(t *testing.T) {
	paced := paced([]int{100, 1_000}, brief)
	f := linear(paced, 100, 20)
	base, each, off := line(f, paced)
	require.InDelta(t, 100, base, 1e-6)
	require.InDelta(t, 20, each, 1e-6)
	require.InDelta(t, 0, off, 1e-9)
	for c := range f {
		f[c][0].Cost = float64(c.Props * c.Props)
	}
	_, _, off = line(f, paced)
	require.Greater(t, off, 0.3)
}

func TestRatiosAreRelativeToTheFirstCell(t *testing.T) {
	cells := tight([]int{2}, brief)
	f := figures{
		cells[0]: {{CPU: 100}, {CPU: 200}, {CPU: 100}}, // the machine was slow in the second round
		cells[1]: {{CPU: 150}, {CPU: 320}, {CPU: 170}},
	}
	rows := table(f, nil, cells).Rows
	require.Nil(t, rows[0][5])
	require.InDelta(t, 1.6, rows[1][5], 1e-9)
	require.Equal(t, "≤ 1.3", rows[1][6])
}

// stuck is a transport that takes nothing.
type stuck struct{}

func (stuck) Deliver(ctx context.Context, _ *footfall.Source) { <-ctx.Done() }

func TestRefusedEventsAreNotCountedAsTracked(t *testing.T) {
	tracker, err := footfall.New(footfall.Config{SiteID: "site_1", DefaultURL: "https://shop.example.com/", Transport: stuck{}, MaxQueueEvents: 20})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	defer tracker.Close(ctx)
	got, err := (&cell{Goroutines: 2, Cores: 1, For: brief}).race(tracker, props(4))
	require.NoError(t, err)
	require.Equal(t, 20, got.events)
	require.Positive(t, got.refused)
	_, err = (&cell{Rate: 1_000, For: brief}).pace(tracker, props(4))
	require.ErrorIs(t, err, footfall.ErrQueueFull)
}

func TestAnEventThatIsNotValidIsAnError(t *testing.T) {
	tracker, err := footfall.New(footfall.Config{SiteID: "site_1", DefaultURL: "https://shop.example.com/", Transport: &settler.Settler{}})
	require.NoError(t, err)
	defer tracker.Close(t.Context())
	_, err = (&cell{Goroutines: 1, Cores: 1, For: brief}).race(tracker, []footfall.Prop{footfall.P("", 1)})
	require.ErrorContains(t, err, "not valid")
}

func TestPropsHaveTheWantedNumberAndDistinctKeys(t *testing.T) {
	for _, n := range propCounts {
		require.Len(t, props(n), n)
	}
	seen := make(map[string]bool)
	for _, key := range keys {
		require.False(t, seen[key], key)
		seen[key] = true
	}
}
