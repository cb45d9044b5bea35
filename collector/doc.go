// Package collector is the whole of a website analytics service in one http.Handler:
// the Site Analytics API for backends, a small script for browsers, and a dashboard.
//
//	st, err := sqlite.Open(ctx, sqlite.Config{File: "footfall.db"})
//	…
//	c, err := collector.New(ctx, collector.Config{Store: st, PublicURL: "https://stats.example.com"})
//	…
//	fmt.Println("set up:", c.SetupURL())
//	err = c.Serve(ctx, listener) // until ctx ends
//	err = errors.Join(err, c.Close(ctx), st.Close())
//
// # What it serves
//
// Under /v1 the API: sites are listed and retrieved, events are posted, with a Bearer
// key. /t.js is the script that pages load, /e takes what it sends, /healthz says
// whether events can be stored. Everything else is the dashboard.
//
// # What it refuses
//
// Every failure under /v1 and of /e has the contract's error body. The contract leaves
// all codes but not_found open; these are used:
//
//	400 validation_failed       the message begins with the field: name, url, props["key"] …;
//	                            also a url that is not on the site's domain, if the site refuses those
//	401 unauthorized            no API key, or none that is valid
//	403 forbidden               /e: the page that sends is not on the site's domain
//	404 not_found               no such site, no such path
//	405 method_not_allowed      Allow says which is
//	408 request_timeout         the body did not arrive in time
//	409 site_paused             tracking of the site is paused
//	413 payload_too_large       more than 32 KiB
//	415 unsupported_media_type  neither JSON nor, for /e, text
//	429 rate_limited            more than Config.KeyRate, Config.BrowserRate or wrong keys; see below
//	500 internal                an error of the collector, which its log tells of
//	503 unavailable             the event is not stored, or not in time: send it again; see below
//
// A 429 says in Retry-After, in whole seconds, when the next request is taken. While
// events come faster than the store commits them, Config.MaxPending of them wait and the
// others are answered with 503 and Retry-After: 1; so is one whose commit takes longer
// than Config.CommitTimeout, which may be stored all the same: an Idempotency-Key keeps
// it from counting twice. Nothing that was refused is kept in memory.
//
// The store remembers a key for 24 hours, or for its IdempotencyWindow. An event that is sent
// again after that counts twice, so the window should be at least the time for which
// senders keep events: 7 days for a spool of the Go library. A UUID as the key takes about
// 110 bytes of SQLite's file for as long; with a million events a day and a window of 7 days
// that is 770 MB. Keys are looked up in the file and take no memory of their own.
//
// Some requests never reach the collector: net/http answers them itself, in plain text or
// without a body, and closes the connection. Serve cannot give those the error body:
//
//	400  not HTTP/1: a broken request line or header, no Host, lengths that differ
//	417  Expect: anything but 100-continue
//	431  a header larger than 32 KiB and a bit
//	501  Transfer-Encoding: anything but chunked
//	505  a version of HTTP that is neither 1.0 nor 1.1
//
// It answers OPTIONS * with 200, and says nothing at all to a header that does not arrive
// within Config.HeaderTimeout: the connection is closed.
//
// # What it promises
//
// An event is answered with 202 when it is committed, not before. One that cannot be
// taken as it was sent is refused and the answer says why; nothing is cut, nothing is
// dropped silently. There is one exception: what bots and prefetching browsers send to
// /e is answered like the rest and counted nowhere but in /healthz. A bot that is told
// so tries again under another name.
//
// A browser's visitor is known for a day by a hash of site, IP address and user agent
// under a random salt. The salt is destroyed when the UTC day is over; the address is
// not kept at all.
package collector
