package outage

import (
	"errors"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/bench/peers"
)

// contestant is a peer and what this experiment must know besides.
type contestant struct {
	peers.Peer

	// openIn starts an SDK that keeps events in dir, which outlive its process. Nil
	// if it keeps none.
	openIn func(url, dir string) (peers.Client, error)
}

func (c *contestant) open(url, dir string) (peers.Client, error) {
	if c.openIn != nil {
		return c.openIn(url, dir)
	}
	return c.Open(url)
}

// teller is what a Client says besides the error of Close, see peers.Client.
type teller interface {
	Lost() int
}

// complainer is an SDK that tells of errors, without the number of events that they cost.
type complainer interface {
	Complaints() int
}

// told waits until an SDK, which may tell from goroutines of its own, has no more to say.
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

// ours reports whether it is bound by our promise that no event is lost silently.
func (c *contestant) ours() bool { return strings.HasPrefix(c.Module, footfallModule) }

const footfallModule = "github.com/footfall-dev/footfall"

// contestants are the peers that send in the background. One that sends when it is called
// gives its caller every error, and has nothing to lose.
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

// forTests are more contestants that a child can be.
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
