package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/footfall-dev/footfall/examples/shop/storefront"
)

// tab does the script's work in the browser of a simulated customer: it tells the
// collector about each page that was shown.
type tab struct {
	*storefront.Script
	client    *http.Client
	userAgent string
	referrer  string // of the first page; the others were reached from the shop
}

// show reports a loaded page. An error of the collector is logged and does not stop the
// customer.
func (t *tab) show(ctx context.Context, page *url.URL) error {
	if t.Script == nil {
		return nil
	}
	body, err := json.Marshal(map[string]string{"s": t.Domain, "u": page.String(), "r": t.referrer})
	if err != nil {
		return err
	}
	t.referrer = ""
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Service+"/e", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "text/plain;charset=UTF-8")
	r.Header.Set("User-Agent", t.userAgent)
	answer, err := t.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("the collector answered %d to a pageview: %s", answer.StatusCode, said)
	}
	return err
}
