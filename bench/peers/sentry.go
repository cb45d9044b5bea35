package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/getsentry/sentry-go"
)

func sentryPeer() Peer {
	return Peer{
		Name: "sentry log", Module: "github.com/getsentry/sentry-go",
		Setting:  "NewClient with Dsn, a Logger of its hub, defaults; Close is FlushWithContext and then Client.Close, which waits for the open request",
		Fixed:    "a ring of 1,000, where a new one replaces the oldest, and 1,000 requests waiting",
		OpenWith: openSentry, Decode: decodeSentry, Answer: answerJSON(`{}`),
	}
}

func openSentry(s Setup) (Client, error) {
	client, err := sentry.NewClient(sentry.ClientOptions{
		Dsn:           strings.Replace(s.URL, "://", "://key@", 1) + "/1",
		HTTPTransport: s.Transport,
	})
	if err != nil {
		return nil, err
	}
	ctx := sentry.SetHubOnContext(context.Background(), sentry.NewHub(client, sentry.NewScope()))
	return &sentryClient{client, sentry.NewLogger(ctx)}, nil
}

type sentryClient struct {
	client *sentry.Client
	logger sentry.Logger
}

func (c *sentryClient) Track(n int) error {
	entry := c.logger.Info().String("plan", "pro").Int("amount", 4999).String("currency", "EUR").Float64("rate", 0.19)
	if n != 0 {
		entry = entry.Int("n", n)
	}
	entry.Emit("checkout_completed")
	return nil
}

func (c *sentryClient) Flush(ctx context.Context) error {
	if !c.client.FlushWithContext(ctx) {
		return errors.Join(errors.New("peers: sentry did not flush"), ctx.Err())
	}
	return nil
}

func (c *sentryClient) Close(ctx context.Context) error {
	err := c.Flush(ctx)
	c.client.Close()
	return err
}

// decodeSentry reads an envelope: one header line, then a header line and a payload line for
// each item.
func decodeSentry(r *http.Request, body []byte) ([]int, error) {
	plain, err := decompress(r, body)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimRight(plain, "\n"), []byte("\n"))
	var ns []int
	for i := 1; i+1 < len(lines); i += 2 {
		found, err := decodeSentryItem(lines[i], lines[i+1])
		if err != nil {
			return nil, err
		}
		ns = append(ns, found...)
	}
	return ns, nil
}

func decodeSentryItem(header, payload []byte) ([]int, error) {
	var item struct{ Type string }
	if err := json.Unmarshal(header, &item); err != nil || item.Type != "log" {
		return nil, err
	}
	var logs struct {
		Items []struct {
			Attributes struct{ N struct{ Value int } }
		}
	}
	if err := json.Unmarshal(payload, &logs); err != nil {
		return nil, err
	}
	ns := make([]int, len(logs.Items))
	for i, one := range logs.Items {
		ns[i] = one.Attributes.N.Value
	}
	return ns, nil
}
