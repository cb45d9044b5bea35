//go:build ci

package faults

import (
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/spool"
	"github.com/footfall-dev/footfall/transporttest/simulation"
)

func TestSimulation(t *testing.T) {
	simulation.Run(t, simulation.Options{
		Open: func(e simulation.Env) (*footfall.Tracker, error) {
			tracker, _, err := spool.Open(e.Config, spool.Config{Dir: e.Dir})
			return tracker, err
		},
		Seeds: 60,
		Store: true,
		Slack: 2 * time.Second, // two looks at the file
	})
}
