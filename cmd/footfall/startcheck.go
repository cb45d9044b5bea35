package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/footfall-dev/footfall"
)

// askAgain is the time between two questions to an API that is away.
const askAgain = 5 * time.Second

// checkAPI asks the API whether it takes the key. An error is one that only an operator can
// remove. If the API is away, the relay starts, is not ready, and its events wait in the stream.
func (p *probes) checkAPI(cfg footfall.Config) error {
	seen := &answered{}
	client, err := newClient(cfg, &http.Client{Transport: seen})
	if err != nil {
		return err
	}
	err = client.Check(p.ctx)
	if err == nil || p.ctx.Err() != nil {
		return nil
	}
	check, ok := errors.AsType[*footfall.CheckError](err)
	if ok && check.Field != "" && seen.whole {
		return fmt.Errorf("the API at %s: %w: %s; footfall doctor tells more", cfg.BaseURL, err, apiRemedy(check.Field))
	}
	p.log.Warn("the API is away; the relay starts, and events wait in the stream until it is there; footfall doctor tells more",
		"FOOTFALL_BASE_URL", cfg.BaseURL, "error", err)
	p.away.Store(&err)
	go p.await(client)
	return nil
}

// answered notes whether an answer has come, with all of its body.
type answered struct{ whole bool }

// RoundTrip implements http.RoundTripper.
func (a *answered) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if a.whole = err == nil; a.whole {
		answer.Body = &noted{answer.Body, a}
	}
	return answer, err
}

// noted is the body of an answer.
type noted struct {
	io.ReadCloser
	a *answered
}

func (n *noted) Read(p []byte) (int, error) {
	count, err := n.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		n.a.whole = false
	}
	return count, err
}

// await asks until the API answers as it should.
func (p *probes) await(client *footfall.Client) {
	for {
		select {
		case <-time.After(askAgain):
		case <-p.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(p.ctx, timeout)
		err := client.Check(ctx)
		cancel()
		if err == nil {
			p.away.Store(nil)
			return
		}
		p.away.Store(&err)
	}
}

// apiRemedy says what to do about a field that Check found wrong.
func apiRemedy(field string) string {
	if field == "Config.APIKey" {
		return "issue a key in the dashboard of the service, and set FOOTFALL_API_KEY to it"
	}
	return "something other than the API answers: set FOOTFALL_BASE_URL to the address of the API, which ends before /v1"
}
