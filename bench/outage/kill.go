package outage

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/footfall-dev/footfall/bench/report"
)

// killed is the scenario between kills: the server works.
var killed = scenario{mood: working, rate: 2000, load: 10 * time.Second, close: time.Second, giveUp: time.Second}

const (
	// a child is killed at a random time between these
	killFrom = time.Second
	killTo   = 3 * time.Second
)

// death is the outcome of several kills for a contestant.
type death struct {
	contestant   *contestant
	taken        int
	gone         int
	most         int // lost in one kill
	duplicated   int
	sameKey      int // of duplicated
	afterRestart int
}

// moments returns the times of the kills, equal for every contestant.
func moments(kills int) (all []time.Duration) {
	for range kills {
		all = append(all, killFrom+rand.N(killTo-killFrom))
	}
	return all
}

func killTrials(ctx context.Context, c *contestant, moments []time.Duration) (d death, err error) {
	d.contestant = c
	for _, after := range moments {
		a, err := killTrial(ctx, &killed, c, after)
		if err != nil {
			return d, err
		}
		d.taken += a.tracked - a.refused
		d.gone += a.missing
		d.most = max(d.most, a.missing)
		d.duplicated += a.duplicated
		d.sameKey += a.sameKey
		d.afterRestart += a.afterRestart
	}
	return d, nil
}

// killTrial kills a child while it tracks.
func killTrial(ctx context.Context, s *scenario, c *contestant, after time.Duration) (a account, err error) {
	err = perform(ctx, s, c, func(t *stage, p *process) error {
		time.Sleep(after)
		p.Stop()
		return t.settle(ctx, &a)
	})
	return a, err
}

func killTable(deaths []death, kills int) report.Table {
	t := report.Table{
		Caption: "G6. SIGKILL at random moments, the same for all, 1 to 3 s after the start, at 2,000 events/s to a server that works; per kill",
		Columns: []string{"SDK", "kills", "accepted (mean)", "never arrived (mean)", "never arrived (max)", "duplicated (mean)", "of them under the same Idempotency-Key", "arrived after a restart (mean)"},
	}
	mean := func(n int) float64 { return rounded(float64(n) / float64(kills)) }
	for _, d := range deaths {
		t.Rows = append(t.Rows, []any{
			d.contestant.Name, kills, mean(d.taken), mean(d.gone), d.most, mean(d.duplicated), mean(d.sameKey), mean(d.afterRestart),
		})
	}
	return t
}
