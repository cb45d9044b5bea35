package doctor

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall"
)

// page reports which segments of a page's path a middleware replaces, and how to exempt them. route is
// the pattern that the page matches, or "" if it is not known. The page may be empty.
func (r *Report) page(ctx context.Context, raw, route string) {
	if raw == "" {
		return
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.add("page", Bad, "-url is not the URL of a page", "give a URL such as https://shop.example.com/products/7")
		return
	}
	sent, err := sentPath(ctx, u, route)
	if err != nil {
		r.add("page", Bad, strings.TrimPrefix(err.Error(), "footfall: "), "give a URL and a route that belong together")
		return
	}
	before, after := strings.Split(u.EscapedPath(), "/"), strings.Split(sent, "/")
	replaced := false
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			replaced = true
			r.add("page", Warn, strconv.Quote(before[i])+" is sent as "+plain(after[i])+", because it looks like a secret or personal data, or its wildcard does", exemption(after[i]))
		}
	}
	if !replaced {
		r.add("page", Good, "the path is sent as it is", "")
	}
}

// plain returns an escaped segment as a reader writes it.
func plain(segment string) string {
	text, err := url.PathUnescape(segment)
	if err != nil {
		return segment
	}
	return text
}

// exemption says how to keep a segment that is replaced by another.
func exemption(by string) string {
	if name, found := strings.CutPrefix(plain(by), "{"); found {
		name = strings.TrimSuffix(name, "}")
		return "if it is none, set Config.AllowPIIKeys to []string{" + strconv.Quote(name) + "} in the program"
	}
	return "if it is none, name a wildcard there in the route, list it in Config.AllowPIIKeys, and see with -route, such as -route '/products/{slug}', that the route is known"
}

// sentPath returns the escaped path of a page as a middleware sends it.
func sentPath(ctx context.Context, page *url.URL, route string) (string, error) {
	into := &kept{}
	tracker, err := footfall.New(footfall.Config{SiteID: "site", Transport: into, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "", err
	}
	r := &http.Request{Method: http.MethodGet, Host: page.Host, URL: page, Pattern: route}
	if err := tracker.TrackRequest(r, "page"); err != nil {
		return "", err
	}
	if err := tracker.Close(ctx); err != nil {
		return "", err
	}
	var event struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(into.body, &event); err != nil {
		return "", err
	}
	sent, err := url.Parse(event.URL)
	if err != nil {
		return "", err
	}
	return sent.EscapedPath(), nil
}

// kept is a Transport that keeps one event.
type kept struct{ body []byte }

// Deliver implements footfall.Transport.
func (k *kept) Deliver(ctx context.Context, src *footfall.Source) {
	var one [1]footfall.Record
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for src.Take(one[:]) > 0 {
			k.body = append(k.body[:0], one[0].Body...)
			src.Settle(one[:], footfall.OutcomeDelivered, nil)
		}
	}
}
