// Package footfall sends named events from a Go backend to the Site Analytics API
// (POST /v1/events) without slowing a request down or quietly losing an event.
//
// # Tracking
//
// A Tracker is made once and closed once. Track checks and encodes an event on the
// caller's goroutine, puts it in a bounded queue and returns: it never blocks and
// does no I/O. One goroutine in the background starts others to deliver.
//
//	tracker, err := footfall.New(footfall.ConfigFromEnv())
//	if err != nil {
//		return err // names every mistake of the configuration
//	}
//	defer tracker.Close(ctx)
//
//	tracker.Track(ctx, "invoice_paid", footfall.P("plan", "pro"), footfall.P("amount", 4999))
//
// An event happens on a page. Its URL is Event.URL if set, else that of the
// context (the middleware, or WithURL), else Config.DefaultURL; without any, Track
// returns ErrNoURL. A prop is a string or a number: P refuses anything else when
// the program is compiled, PropsFromMap when it runs.
//
// An event carries no visitor and no time, because the API's event has a field for
// neither. The service counts it when it arrives, also after an outage.
//
// [Tracker.TrackDurable] is for events that must not be lost. It waits until the API has
// accepted the event, or until a Transport that stores events has it on disk:
//
//	err = tracker.TrackDurable(ctx, footfall.Event{Name: "order_paid", URL: "https://shop.example.com/checkout"})
//
// # The middleware
//
// Rules say which routes make events; they are data:
//
//	handler := tracker.Middleware(
//		footfall.Rule{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Success},
//		footfall.Rule{Route: "GET /pricing", Event: "pricing_viewed"},
//	)(mux)
//
// Below it any code that has the request's context can track on the visitor's page:
//
//	footfall.Track(ctx, "coupon_applied", footfall.P("code", code))
//
// # Several sites
//
// The site of an event is [Event.SiteID] if set, else [Rule.SiteID] if a rule makes the
// event, else the site of the context ([WithSite]), else Config.SiteID. A program that
// serves several sites sets the site of each request above the middleware:
//
//	tracked := tracker.Middleware(rules...)(mux)
//	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
//		tracked.ServeHTTP(w, r.WithContext(footfall.WithSite(r.Context(), siteOf[r.Host])))
//	})
//
// # What becomes of an event
//
// Every event that Track accepted ends in exactly one counter of Stats: delivered,
// rejected (the API said that it is bad; Config.OnError is told), dropped (only
// with Config.DropOldest, by Close, or beyond the bounds of a store), or stored by a
// Transport that keeps it on disk. While the API is down, refuses the key, or answers
// something else than the contract, events wait in the queue and delivery resumes by
// itself. What Track refuses, because the queue is full or the event is bad, it says
// with an error, counts, and logs at most once a minute.
//
// An event that the API does not accept holds up no other: it waits by itself until its
// next attempt.
//
// Close retries what is left while the API accepts anything and its context allows, and
// its error is the account of what was lost. What is queued when the process is killed
// is lost.
//
// # Personal data
//
// Values that look like an e-mail address, an IP address, a payment card number or
// a bearer token are replaced by "[redacted]"; see Config.AllowPII. URLs taken
// from requests keep only the query keys in Config.QueryKeys. No visitor's address
// or user agent is ever sent.
package footfall
