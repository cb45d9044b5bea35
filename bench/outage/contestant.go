package outage

import (
	"errors"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/bench/peers"
)

// contestant is a peer with further facts for this experiment.
type contestant struct {
	peers.Peer

	// openIn starts an SDK that stores events in dir, where they outlive the process. Nil for
	// SDKs without a store.
	openIn func(url, dir string) (peers.Client, error)
}

func (c *contestant) open(url, dir string) (peers.Client, error) {
	if c.openIn != nil {
		return c.openIn(url, dir)
	}
	return c.Open(url)
}

// teller is implemented by clients that report lost events; see peers.Client.
type teller interface {
	Lost() int
}

// complainer is implemented by clients that report errors without a number of events.
type complainer interface {
	Complaints() int
}

// told waits until an SDK, which may report asynchronously, reports no more.
func told(t teller) (lost int) {
	const often, calm = 20 * time.Millisecond, 10
	for quiet, rounds := 0, 0; quiet < calm && rounds < 20*calm; rounds++ {
		time.Sleep(often)
		if quiet++; t.Lost() != lost {
			lost, quiet = t.Lost(), 0
		}
	}
	return lost
}

// ours reports whether Footfall's promise of no silent loss applies.
func (c *contestant) ours() bool { return strings.HasPrefix(c.Module, footfallModule) }

const footfallModule = "github.com/footfall-dev/footfall"

// contestants returns the peers that send in the background. A synchronous SDK returns every
// error to its caller and cannot lose events.
func contestants() (all []contestant) {
	for _, p := range peers.All() {
		if p.Synchronous {
			continue
		}
		c := contestant{Peer: p}
		if p.Name == "Footfall spooled" {
			c.openIn = peers.OpenSpooled
		}
		all = append(all, c)
	}
	return all
}

// forTests are further contestants of tests.
var forTests []contestant

func findContestant(name string) (*contestant, error) {
	all := append(contestants(), forTests...)
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	return nil, errors.New("outage: no contestant named " + name)
}
