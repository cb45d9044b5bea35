package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/footfall-dev/footfall"
)

// poster sends each event as a track call.
type poster struct {
	client *http.Client
	url    string
	key    string
}

// newTransport returns a transport that retries, paces and accounts for events as the default one does.
func newTransport(cfg footfall.Config) (footfall.Transport, error) {
	return footfall.NewPostingTransport(cfg, func(cfg footfall.Config) (footfall.Poster, error) {
		client := &http.Client{
			Timeout:       cfg.AttemptTimeout,
			Transport:     &http.Transport{MaxConnsPerHost: cfg.MaxInFlight, MaxIdleConnsPerHost: cfg.MaxInFlight},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		return &poster{client, strings.TrimRight(cfg.BaseURL, "/") + "/v1/track", cfg.APIKey}, nil
	})
}

// call is the body of a track call. The service drops a call without an anonymousId or userId. An event of
// Footfall has no visitor, so that each site is one.
type call struct {
	Event       string          `json:"event"`
	AnonymousID string          `json:"anonymousId"`
	MessageID   string          `json:"messageId"`
	Properties  json.RawMessage `json:"properties,omitempty"`
	Context     pageContext     `json:"context"`
}

type pageContext struct {
	Page struct {
		URL string `json:"url"`
	} `json:"page"`
}

// newCall translates an event. The service counts calls with the same messageId once.
func newCall(r footfall.Record) (c call, err error) {
	var event struct {
		SiteID string          `json:"site_id"`
		Name   string          `json:"name"`
		URL    string          `json:"url"`
		Props  json.RawMessage `json:"props"`
	}
	if err := json.Unmarshal(r.Body, &event); err != nil {
		return c, err
	}
	c = call{Event: event.Name, AnonymousID: event.SiteID, MessageID: messageID(r.IdempotencyKey()), Properties: event.Props}
	c.Context.Page.URL = event.URL
	return c, nil
}

// longestID is the longest messageId that the service accepts.
const longestID = 99

func messageID(key string) string {
	if len(key) <= longestID {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Post implements footfall.Poster.
func (p *poster) Post(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.OnInterrupt(cancel)
	c, err := newCall(r)
	if err != nil {
		return err
	}
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth(p.key, "")
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	a.Status, a.RetryAfter, a.Date = resp.StatusCode, resp.Header.Get("Retry-After"), resp.Header.Get("Date")
	if a.Status == http.StatusSwitchingProtocols {
		return nil // the body is the connection
	}
	answer := bytes.NewBuffer(a.Body)
	_, a.Cut = answer.ReadFrom(io.LimitReader(resp.Body, 16<<10))
	a.Body = answer.Bytes()
	translate(a)
	return nil
}

// translate makes the service's answer one of the Site Analytics API: 200 with {"success":true} accepts an
// event, and 400 refuses it for good. The transport knows what the other ones mean.
func translate(a *footfall.Answer) {
	var said struct {
		Success bool
		Message string
	}
	_ = json.Unmarshal(a.Body, &said) // something other than the service may have answered
	switch {
	case a.Status == http.StatusOK && said.Success:
		a.Status, a.Body = http.StatusAccepted, append(a.Body[:0], `{"accepted":true}`...)
	case a.Status == http.StatusBadRequest && said.Message != "":
		a.Body = fmt.Appendf(a.Body[:0], `{"error":"bad_request","message":%q,"status":400}`, said.Message)
	}
}

// Close implements footfall.Poster.
func (p *poster) Close() { p.client.CloseIdleConnections() }
