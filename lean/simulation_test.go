package lean

import (
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/transporttest/simulation"
)

func TestSimulation(t *testing.T) {
	simulation.Run(t, simulation.Options{
		Open: func(e simulation.Env) (tracker *footfall.Tracker, err error) {
			cfg := e.Config
			cfg.HTTPClient = nil
			cfg.Transport, err = footfall.NewPostingTransport(cfg, func(cfg footfall.Config) (footfall.Poster, error) {
				p, err := newPoster(cfg)
				if err == nil {
					p.(*poster).pool = newPool((&dialer{addr: "127.0.0.1:8080", tcp: e.Dial}).dial)
				}
				return p, err
			})
			if err != nil {
				return nil, err
			}
			return footfall.New(cfg)
		},
		Seeds:   100,
		Wire:    true,
		Without: []simulation.Kind{simulation.Unsolicited}, // the check before a write works for sockets only
	})
}
