package peers

import (
	"context"
	"sync/atomic"

	analytics "github.com/rudderlabs/analytics-go/v4"
)

func rudderPeer() Peer {
	return Peer{
		Name: "rudder", Module: "github.com/rudderlabs/analytics-go/v4",
		Setting:  "NewWithConfig with DataPlaneUrl and Callback; a discarded log",
		Fixed:    "a channel of 100, and Enqueue blocks while it is full; it gives up more than 1,000 requests at once",
		OpenWith: openRudder, Decode: decodeSegment, Answer: answerJSON(`OK`),
	}
}

func openRudder(s Setup) (Client, error) {
	c := &rudderClient{}
	var err error
	c.Client, err = analytics.NewWithConfig("key", analytics.Config{DataPlaneUrl: s.URL, Transport: s.Transport, Callback: &c.losses, Logger: silent{}})
	return c, err
}

type rudderClient struct {
	analytics.Client
	losses rudderLosses
}

func (c *rudderClient) Track(n int) error {
	props := analytics.NewProperties().Set("plan", "pro").Set("amount", 4999).Set("currency", "EUR").Set("rate", 0.19)
	if n != 0 {
		props.Set("n", n)
	}
	return c.Enqueue(analytics.Track{UserId: "user_1", Event: "checkout_completed", Properties: props})
}

func (c *rudderClient) Flush(context.Context) error { return ErrNoFlush }
func (c *rudderClient) Close(context.Context) error { return c.Client.Close() }
func (c *rudderClient) Lost() int                   { return int(c.losses.Load()) }

type rudderLosses struct{ atomic.Int64 }

func (*rudderLosses) Success(analytics.Message)          {}
func (l *rudderLosses) Failure(analytics.Message, error) { l.Add(1) }
