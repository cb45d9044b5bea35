package peers

import (
	"context"
	"sync/atomic"

	"github.com/posthog/posthog-go"
)

func posthogPeer() Peer {
	return Peer{
		Name: "posthog", Module: "github.com/posthog/posthog-go",
		Setting:  "NewWithConfig with Endpoint and Callback; a discarded log",
		Fixed:    "a channel of 100, and Enqueue blocks while it is full; it gives up more than 1,000 requests at once",
		OpenWith: openPosthog, Decode: decodeSegment, Answer: answerJSON(`{"status":1}`),
	}
}

func openPosthog(s Setup) (Client, error) {
	c := &posthogClient{}
	var err error
	c.Client, err = posthog.NewWithConfig("key", posthog.Config{Endpoint: s.URL, Transport: s.Transport, Callback: &c.losses, Logger: silent{}})
	return c, err
}

type posthogClient struct {
	posthog.Client
	losses posthogLosses
}

func (c *posthogClient) Track(n int) error {
	props := posthog.NewProperties().Set("plan", "pro").Set("amount", 4999).Set("currency", "EUR").Set("rate", 0.19)
	if n != 0 {
		props.Set("n", n)
	}
	return c.Enqueue(posthog.Capture{DistinctId: "user_1", Event: "checkout_completed", Properties: props})
}

func (c *posthogClient) Flush(context.Context) error { return ErrNoFlush }
func (c *posthogClient) Close(context.Context) error { return c.Client.Close() }
func (c *posthogClient) Lost() int                   { return int(c.losses.Load()) }

type posthogLosses struct{ atomic.Int64 }

func (*posthogLosses) Success(posthog.APIMessage)          {}
func (l *posthogLosses) Failure(posthog.APIMessage, error) { l.Add(1) }
