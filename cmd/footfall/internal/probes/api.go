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

// checkInterval is the time between two checks of an API that is unavailable.
const checkInterval = 5 * time.Second

// apiCheck asks the API when a relay starts.
type apiCheck struct {
	ctx     context.Context // of the relay
	log     *slog.Logger
	failure atomic.Pointer[error] // why the API has not answered since the start, or nil
}

// CheckAPI asks the API whether it accepts the key, and returns an error that only an operator can
// correct. An unavailable API is not an error: the relay starts, is not ready, and its events wait in
// the stream.
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
		remedy := shell.ProxyRemedy(cfg.BaseURL, seen.status, err)
		switch {
		case remedy != "":
		case check.Field == "Config.APIKey":
			remedy = "issue a key in the dashboard of the service, and set FOOTFALL_API_KEY to it"
		default:
			remedy = "something other than the API answers: set FOOTFALL_BASE_URL to the address of the API, which ends before /v1"
		}
		return fmt.Errorf("the API at %s: %w: %s; run footfall doctor for details", cfg.BaseURL, err, remedy)
	}
	c.log.Warn("the API is unavailable; the relay starts, and events wait in the stream until the API answers; run footfall doctor for details",
		"FOOTFALL_BASE_URL", cfg.BaseURL, "error", err)
	c.failure.Store(&err)
	go c.await(client)
	return nil
}

// answered reads an answer, and notes its status and whether all of it has come.
type answered struct {
	io.ReadCloser
	status int
	whole  bool
}

// RoundTrip implements http.RoundTripper.
func (a *answered) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if a.whole = err == nil; a.whole {
		a.status, a.ReadCloser, answer.Body = answer.StatusCode, answer.Body, a
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

// await checks the API until it accepts the key.
func (c *apiCheck) await(client *footfall.Client) {
	for {
		select {
		case <-time.After(checkInterval):
		case <-c.ctx.Done():
			return
		}
		err := client.Check(c.ctx)
		if err == nil {
			c.failure.Store(nil)
			return
		}
		c.failure.Store(&err)
	}
}
