package peers

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/spool"
)

func footfallPeer() Peer {
	return Peer{
		Name: "Footfall", Module: "github.com/footfall-dev/footfall",
		Setting:  "footfall.New with BaseURL, APIKey, SiteID, DefaultURL; a discarded log",
		OpenWith: openFootfall, Decode: decodeFootfall, Answer: answerFootfall,
	}
}

func spooledPeer() Peer {
	p := footfallPeer()
	p.Name, p.Module = "Footfall spooled", "github.com/footfall-dev/footfall/spool"
	p.Setting = "spool.Open with its own directory, otherwise as Footfall"
	p.OpenWith = func(s Setup) (Client, error) {
		dir, err := os.MkdirTemp("", "footfall-bench-spool-")
		if err != nil {
			return nil, err
		}
		return openSpooled(s, dir, dir)
	}
	return p
}

// OpenSpooled starts a Footfall that stores its events in dir, and keeps dir when it is closed.
func OpenSpooled(url, dir string) (Client, error) { return openSpooled(Setup{URL: url}, dir, "") }

func openSpooled(s Setup, dir, remove string) (Client, error) {
	t, _, err := spool.Open(footfallConfig(s), spool.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	return &footfallClient{t, remove}, nil
}

func openFootfall(s Setup) (Client, error) {
	t, err := footfall.New(footfallConfig(s))
	if err != nil {
		return nil, err
	}
	return &footfallClient{t, ""}, nil
}

func footfallConfig(s Setup) footfall.Config {
	cfg := footfall.Config{
		BaseURL: s.URL, APIKey: "key", SiteID: "site_1", DefaultURL: "https://shop.example.com/checkout",
		Logger:         slog.New(slog.DiscardHandler),
		MaxQueueEvents: s.Queue,
		MaxQueueBytes:  s.Queue << 10, // so that only the count bounds the queue
	}
	if s.Transport != nil {
		cfg.HTTPClient = &http.Client{Transport: s.Transport}
	}
	return cfg
}

// FootfallOver starts a Footfall with the given transport.
func FootfallOver(transport footfall.Transport, queue int) (Client, error) {
	cfg := footfallConfig(Setup{Queue: queue})
	cfg.Transport = transport
	t, err := footfall.New(cfg)
	if err != nil {
		return nil, err
	}
	return &footfallClient{t, ""}, nil
}

type footfallClient struct {
	tracker *footfall.Tracker
	remove  string // directory to remove after Close
}

func (c *footfallClient) Track(n int) error {
	if n == 0 {
		return c.tracker.Track(context.Background(), "checkout_completed",
			footfall.P("plan", "pro"), footfall.P("amount", 4999), footfall.P("currency", "EUR"), footfall.P("rate", 0.19))
	}
	return c.tracker.Track(context.Background(), "checkout_completed",
		footfall.P("plan", "pro"), footfall.P("amount", 4999), footfall.P("currency", "EUR"), footfall.P("rate", 0.19), footfall.P("n", n))
}

func (c *footfallClient) Flush(ctx context.Context) error { return c.tracker.Flush(ctx) }

func (c *footfallClient) Close(ctx context.Context) error {
	err := c.tracker.Close(ctx)
	if c.remove != "" {
		_ = os.RemoveAll(c.remove)
	}
	return err
}

func decodeFootfall(_ *http.Request, body []byte) ([]int, error) {
	var event struct{ Props numbered }
	err := json.Unmarshal(body, &event)
	return []int{event.Props.N}, err
}

func answerFootfall(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"accepted":true}`)
}
