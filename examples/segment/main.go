// Segment is a server whose events go to Segment's HTTP Tracking API, or to a service that accepts the same
// requests, in place of the Site Analytics API. SEGMENT_WRITE_KEY is the key of the source, and SEGMENT_URL
// another address. It listens on 127.0.0.1:8080, or on the address in LISTEN.
package main

import (
	"cmp"
	"context"
	"log"
	"net/http"
	"os"

	"github.com/footfall-dev/footfall"
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal("segment: ", err)
	}
}

func run(ctx context.Context) error {
	cfg := footfall.Config{
		APIKey:    os.Getenv("SEGMENT_WRITE_KEY"),
		BaseURL:   cmp.Or(os.Getenv("SEGMENT_URL"), "https://api.segment.io"),
		AllowHTTP: os.Getenv("SEGMENT_URL") != "", // a service on this machine
		SiteID:    "site_shop",
		PublicURL: "https://shop.example.com",
	}
	transport, err := newTransport(cfg)
	if err != nil {
		return err
	}
	cfg.Transport = transport
	tracker, err := footfall.New(cfg)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /checkout", func(http.ResponseWriter, *http.Request) {})
	handler := tracker.Middleware(footfall.Rule{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Success})(mux)
	server := &http.Server{Addr: cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:8080"), Handler: handler}
	return tracker.Run(ctx, server)
}
