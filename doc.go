// Package footfall sends named events from a Go backend to the Site Analytics API
// (POST /v1/events) without slowing a request down or quietly losing an event.
//
// This page has three parts. Most programs need the first only: a [Tracker], its
// [Config], [Rule], [Event] and the functions that they take. Authors of adapters for
// web frameworks read the second part too, and authors of transports the third.
//
// # For applications
//
// Make a [Tracker] once with [New] and close it once with [Tracker.Close].
// [Tracker.Track] checks and encodes an event on the caller's goroutine, puts it into
// a bounded queue and returns: it never blocks and does no I/O.
//
//	tracker, err := footfall.New(footfall.ConfigFromEnv())
//	if err != nil {
//		return err // names every mistake of the configuration
//	}
//	defer tracker.Close(ctx) // it logs how many events are lost, if any
//	if err := tracker.Check(ctx); err != nil {
//		log.Print(err) // a refused key, for which events wait, or a wrong site, whose events are lost
//	}
//
//	tracker.Track(ctx, "invoice_paid", footfall.P("plan", "pro"), footfall.P("amount", 4999))
//
// An event happens on a page. Its URL is [Event.URL] if set, else the URL of the
// context ([Tracker.Middleware] or [WithURL]), else [Config.DefaultURL]. Without any,
// Track returns [ErrNoURL]: a worker that has no request sets one of them. A [Prop] is
// a string or a number: [P] refuses anything else when the program is compiled,
// [PropsFromMap] when it runs.
//
// An event carries no visitor and no time, because the API's event has a field for
// neither. The service counts it when it arrives, even after an outage.
//
// [Tracker.TrackDurable] is for events that must not be lost. It waits until the API has
// accepted the event, or until a [Transport] that stores events has it on disk:
//
//	err = tracker.TrackDurable(ctx, footfall.Event{Name: "order_paid", URL: "https://shop.example.com/checkout"})
//
// Rules say which routes make events; see [Rule] for routes, names and status classes:
//
//	handler := tracker.Middleware(
//		footfall.Rule{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Success},
//		footfall.Rule{Route: "GET /pricing", Event: "pricing_viewed"},
//	)(mux)
//
// Below the middleware any code that has the request's context can call [Track], on
// the visitor's page:
//
//	footfall.Track(ctx, "coupon_applied", footfall.P("code", code))
//
// [Tracker.CheckRules] finds rules whose route is not registered, and [Tracker.Run]
// serves until SIGTERM and then stops the server and the tracker.
//
// The site of an event is [Event.SiteID] if set, else [Rule.SiteID] if a rule makes the
// event, else the site of the context ([WithSite]), else [Config.SiteID]. A program that
// serves several sites sets the site of each request above the middleware:
//
//	tracked := tracker.Middleware(rules...)(mux)
//	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
//		tracked.ServeHTTP(w, r.WithContext(footfall.WithSite(r.Context(), siteOf[r.Host])))
//	})
//
// Every event that Track accepted ends in exactly one counter of [Stats]: delivered,
// rejected (the API refused it for good; see [Config.OnRejected]), dropped (only
// with [Config.DropOldest], by Close, or beyond the bounds of a store), or stored by a
// Transport that keeps it on disk. While the API is down, refuses the key, or gives
// answers outside of its contract, events wait in the queue and delivery resumes by
// itself; [Tracker.Outage] says since when and why. If the queue is full or the event is
// bad, Track returns an error. [Stats] counts it, and the tracker logs such errors at most
// once a minute, not on the caller's goroutine. Only [ErrNoTracker] is neither counted nor
// logged, because there is no tracker.
//
// An event that the API does not accept waits by itself until its next attempt. While the
// API accepts one event a second of a name and site, an event of them is delivered within
// [Config.FlushInterval], its turn and one attempt, whatever else fails; if it accepts none,
// ten good events behind 200 that fail take at most 30 s. Close retries the remaining events
// while its context allows, if the API has ever accepted one; if it never has, each event
// gets one attempt. Its error, a [*CloseError], is the account of the lost events, and is
// logged. If the process is killed, the queue is lost.
//
// Values that look like an e-mail address, an IP address, a payment card number or
// a bearer token are replaced by "[redacted]"; see [Config.AllowPII]. URLs taken
// from requests keep only the query keys in [Config.QueryKeys]. No visitor's address
// or user agent is ever sent.
//
// Package event defines events as types, whose props the compiler checks.
//
// [Client] calls the API directly. Package footfalltest has a tracker that records
// events, for tests.
//
// # For adapters
//
// An adapter is a middleware for a framework whose routes [http.ServeMux] does not
// know. [Tracker.Rules] checks rules once. For frameworks with handlers of net/http,
// [Rules.Wrap] is the whole middleware. Other frameworks with an [http.Request] begin a
// [Visit] with [Rules.Visit] before the handler and end it with [Visit.End]. Frameworks
// without one take the [Page] from [Tracker.Page] before the handler, pass the context
// of [Tracker.WithPage] to it, and report the answer as an [Observation] to
// [Rules.Observe].
//
// [TrackRoute] is Track for handlers whose router knows the route, and
// [Tracker.CheckRoutes] compares rules with the registered routes.
// footfalltest.RunMiddleware tests an adapter against real servers.
//
// # For transports
//
// A [Transport] carries each [Record] from its [Source] to an [Outcome]. The default one
// posts events with net/http; [NewHTTPTransport] returns it for a Transport in front
// of it. To replace net/http only, implement [Poster] and call [NewPostingTransport]:
// retries, the circuit breakers and the meaning of answers stay.
//
// A Transport that keeps events on disk settles them as [OutcomeStored] and implements
// [Flusher]. If it implements [Memory], the queue survives a kill too. To feed another
// Transport from its disk it implements [Store] and calls
// [NewSource]. Package transporttest tests transports.
package footfall
