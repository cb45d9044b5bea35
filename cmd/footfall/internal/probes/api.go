package probes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
)

// askAgain is the time between two questions to an API that is away.
const askAgain = 5 * time.Second

// apiCheck asks the API when a relay starts.
type apiCheck struct {
	ctx  context.Context // of the relay
	log  *slog.Logger
	away atomic.Pointer[error] // why the API has not answered since the start, or nil
}

// CheckAPI asks the API whether it takes the key. An error is one that only an operator can
// remove. If the API is away, the relay starts, is not ready, and its events wait in the stream.
func (c *apiCheck) CheckAPI(cfg footfall.Config) error {
	seen := &answered{}
	client, err := shell.NewClient(cfg, &http.Client{Transport: seen})
	if err != nil {
		return err
	}
	err = client.Check(c.ctx)
	if err == nil || c.ctx.Err() != nil {
		return nil
	}
	check, ok := errors.AsType[*footfall.CheckError](err)
	if ok && check.Field != "" && seen.whole {
		return fmt.Errorf("the API at %s: %w: %s; footfall doctor tells more", cfg.BaseURL, err, apiRemedy(check.Field))
	}
	c.log.Warn("the API is away; the relay starts, and events wait in the stream until it is there; footfall doctor tells more",
		"FOOTFALL_BASE_URL", cfg.BaseURL, "error", err)
	c.away.Store(&err)
	go c.await(client)
	return nil
}

// answered notes whether an answer has come, with all of its body, which it reads.
type answered struct {
	io.ReadCloser
	whole bool
}

// RoundTrip implements http.RoundTripper.
func (a *answered) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if a.whole = err == nil; a.whole {
		a.ReadCloser, answer.Body = answer.Body, a
	}
	return answer, err
}

func (a *answered) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		a.whole = false
	}
	return n, err
}

// await asks until the API answers as it should.
func (c *apiCheck) await(client *footfall.Client) {
	for {
		select {
		case <-time.After(askAgain):
		case <-c.ctx.Done():
			return
		}
		err := client.Check(c.ctx)
		if err == nil {
			c.away.Store(nil)
			return
		}
		c.away.Store(&err)
	}
}

// apiRemedy says what to do about a field that Check found wrong.
func apiRemedy(field string) string {
	if field == "Config.APIKey" {
		return "issue a key in the dashboard of the service, and set FOOTFALL_API_KEY to it"
	}
	return "something other than the API answers: set FOOTFALL_BASE_URL to the address of the API, which ends before /v1"
}
