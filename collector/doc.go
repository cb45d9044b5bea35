// Package collector implements a website analytics service as one [net/http.Handler]: the
// Site Analytics API for backends, a script for browsers, and a dashboard.
//
//	st, err := sqlite.Open(ctx, sqlite.Config{File: "footfall.db"})
//	…
//	c, err := collector.New(ctx, collector.Config{Store: st, PublicURL: "https://stats.example.com"})
//	…
//	fmt.Println("set up:", c.SetupURL())
//	err = c.Serve(ctx, listener) // until ctx ends
//	err = errors.Join(err, c.Close(ctx), st.Close())
//
// # Endpoints
//
// The API is under /v1: it lists and returns sites and accepts events, with a Bearer key.
// /openapi.yaml describes it in OpenAPI 3.1. /t.js is the script for pages, and /e accepts its
// events. /healthz reports whether events can be stored, /livez only that the process serves
// requests. All other paths belong to the dashboard.
//
// # Errors
//
// Failures under /v1 and of /e have the error body of the contract. The contract fixes only
// the code not_found; the collector uses these:
//
//	400 validation_failed       the message begins with the field: name, url, props["key"] …;
//	                            also a url that is not on the site's domain, if the site refuses those
//	401 unauthorized            no API key, or an invalid one
//	403 forbidden               /e: the page that sends is not on the site's domain
//	404 not_found               no such site, no such path
//	405 method_not_allowed      the Allow header lists the methods
//	408 request_timeout         the body did not arrive in time
//	409 site_paused             tracking of the site is paused
//	413 payload_too_large       more than 32 KiB
//	415 unsupported_media_type  neither JSON nor, for /e, text
//	429 rate_limited            more than Config.KeyRate, Config.BrowserRate or wrong keys; see below
//	500 internal                an error in the collector; its log has the details
//	503 unavailable             the event is not stored, or not in time: send it again; see below
//
// A 429 carries in Retry-After the seconds until the next request is accepted. While events
// arrive faster than the store commits them, Config.MaxPending of them wait, and others get
// a 503 with Retry-After: 1. An event whose commit exceeds Config.CommitTimeout gets a 503,
// too, although it may be stored later: an Idempotency-Key keeps it from counting twice.
// Refused events are not kept in memory.
//
// The store remembers a key for its IdempotencyWindow, by default 24 hours. An event that is
// repeated later counts twice, so the window should be at least as long as senders keep
// events: 7 days for a spool of the Go library. A UUID as the key takes about 110 bytes in
// the SQLite file during the window: 770 MB for a million events a day and 7 days. Keys are
// looked up in the file and take no memory.
//
// net/http answers some requests itself, in plain text or without a body, and closes the
// connection. They do not have the error body:
//
//	400  not HTTP/1: a broken request line or header, no Host, lengths that differ
//	417  Expect: anything but 100-continue
//	431  a header larger than 32 KiB and a bit
//	501  Transfer-Encoding: anything but chunked
//	505  a version of HTTP that is neither 1.0 nor 1.1
//
// A connection ends with the answer to a request with a Transfer-Encoding, or with a body in HTTP/1.0,
// because a proxy may have seen another end of such a request (RFC 9112, section 6.1). So clients that
// send events with a Content-Length need fewer connections.
//
// It answers OPTIONS * with 200. If a header does not arrive within Config.HeaderTimeout, it
// closes the connection without an answer.
//
// # Guarantees
//
// The answer to an event is 202 only after it is committed. An event that cannot be stored
// as sent is refused with the reason; nothing is truncated or dropped silently. Bots and
// prefetching browsers are the one exception: their events to /e get a 202 but count only in
// /healthz, because a bot that is refused tries again under another name.
//
// A browser's visitor is identified for a day by a hash of site, IP address and user agent
// with a random salt. The salt is destroyed when the day ends at the sites, each in its time zone. The address is not
// stored, nor is the user agent: of that, only the name of the browser and the kind of device
// (desktop, mobile or tablet) are kept, each of a short list.
package collector
