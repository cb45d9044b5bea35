//go:build ci

package faults

import (
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/spool"
	"github.com/footfall-dev/footfall/transporttest"
)

// The suite of the default transport. It does not depend on where events wait.
func TestDelivery(t *testing.T) {
	transporttest.RunDelivery(t, func(cfg footfall.Config) (footfall.Transport, error) {
		next, err := footfall.NewHTTPTransport(cfg)
		if err != nil {
			return nil, err
		}
		return spool.New(spool.Config{Dir: t.TempDir(), Next: next, Logger: cfg.Logger})
	})
}
