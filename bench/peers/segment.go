package peers

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/segmentio/analytics-go/v3"
)

func segmentPeer() Peer {
	return Peer{
		Name: "segment", Module: "github.com/segmentio/analytics-go/v3",
		Setting:  "NewWithConfig with Endpoint and Callback; a discarded log",
		Fixed:    "a channel of 100, and Enqueue blocks while it is full; it gives up more than 1,000 requests at once",
		OpenWith: openSegment, Decode: decodeSegment, Answer: answerJSON(`{"success":true}`),
	}
}

func openSegment(s Setup) (Client, error) {
	c := &segmentClient{}
	var err error
	c.Client, err = analytics.NewWithConfig("key", analytics.Config{Endpoint: s.URL, Transport: s.Transport, Callback: &c.losses, Logger: silent{}})
	return c, err
}

type segmentClient struct {
	analytics.Client
	losses segmentLosses
}

func (c *segmentClient) Track(n int) error {
	props := analytics.NewProperties().Set("plan", "pro").Set("amount", 4999).Set("currency", "EUR").Set("rate", 0.19)
	if n != 0 {
		props.Set("n", n)
	}
	return c.Enqueue(analytics.Track{UserId: "user_1", Event: "checkout_completed", Properties: props})
}

func (c *segmentClient) Flush(context.Context) error { return ErrNoFlush }
func (c *segmentClient) Close(context.Context) error { return c.Client.Close() }
func (c *segmentClient) Lost() int                   { return int(c.losses.Load()) }

type segmentLosses struct{ atomic.Int64 }

func (*segmentLosses) Success(analytics.Message)          {}
func (l *segmentLosses) Failure(analytics.Message, error) { l.Add(1) }

func decodeSegment(r *http.Request, body []byte) ([]int, error) {
	var request struct {
		Batch []struct{ Properties numbered }
	}
	if err := decodeJSON(r, body, &request); err != nil {
		return nil, err
	}
	ns := make([]int, len(request.Batch))
	for i, event := range request.Batch {
		ns[i] = event.Properties.N
	}
	return ns, nil
}

// silent is a log that discards everything.
type silent struct{}

func (silent) Logf(string, ...any)   {}
func (silent) Errorf(string, ...any) {}
func (silent) Debugf(string, ...any) {}
func (silent) Infof(string, ...any)  {}
func (silent) Warnf(string, ...any)  {}
