package peers

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/honeycombio/libhoney-go"
	"github.com/honeycombio/libhoney-go/transmission"
)

func libhoneyPeer() Peer {
	return Peer{
		Name: "libhoney", Module: "github.com/honeycombio/libhoney-go",
		Setting:  "NewClient with APIHost and a Honeycomb transmission of the documented defaults, its responses read; PendingWorkCapacity is the bound",
		OpenWith: openLibhoney, Decode: decodeLibhoney,
		Answer: answerJSON("[" + strings.Repeat(`{"status":202},`, libhoney.DefaultMaxBatchSize-1) + `{"status":202}]`),
	}
}

func openLibhoney(s Setup) (Client, error) {
	client, err := libhoney.NewClient(libhoney.ClientConfig{
		APIKey: "key", Dataset: "shop", APIHost: s.URL,
		Transmission: &transmission.Honeycomb{
			MaxBatchSize:         libhoney.DefaultMaxBatchSize,
			BatchTimeout:         libhoney.DefaultBatchTimeout,
			MaxConcurrentBatches: libhoney.DefaultMaxConcurrentBatches,
			PendingWorkCapacity:  cmp.Or(uint(s.Queue), libhoney.DefaultPendingWorkCapacity),
			Transport:            s.Transport,
		},
	})
	if err != nil {
		return nil, err
	}
	c := &libhoneyClient{client: client}
	go c.read(client.TxResponses())
	return c, nil
}

type libhoneyClient struct {
	client *libhoney.Client
	lost   atomic.Int64
}

// read counts lost events until Close closes the channel.
func (c *libhoneyClient) read(responses <-chan transmission.Response) {
	for response := range responses {
		if response.Err != nil || response.StatusCode >= http.StatusMultipleChoices {
			c.lost.Add(1)
		}
	}
}

func (c *libhoneyClient) Track(n int) error {
	event := c.client.NewEvent()
	event.AddField("name", "checkout_completed")
	event.AddField("plan", "pro")
	event.AddField("amount", 4999)
	event.AddField("currency", "EUR")
	event.AddField("rate", 0.19)
	if n != 0 {
		event.AddField("n", n)
	}
	return event.Send()
}

func (c *libhoneyClient) Flush(ctx context.Context) error { return do(ctx, c.client.Flush) }
func (c *libhoneyClient) Lost() int                       { return int(c.lost.Load()) }

func (c *libhoneyClient) Close(context.Context) error {
	c.client.Close()
	return nil
}

func decodeLibhoney(r *http.Request, body []byte) ([]int, error) {
	var events []struct{ Data numbered }
	if err := decodeJSON(r, body, &events); err != nil {
		return nil, err
	}
	ns := make([]int, len(events))
	for i, event := range events {
		ns[i] = event.Data.N
	}
	return ns, nil
}
