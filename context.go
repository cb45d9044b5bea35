package footfall

import "context"

// contextKey is the key of a contextValue in a context.
type contextKey struct{}

// contextValue holds the tracker and the page of the events below a context.
type contextValue struct {
	tracker *Tracker
	known   bool // tracker was set, perhaps to nil
	page    Page
	request routedRequest // of page
}

// valueContext is a context with a contextValue, in one allocation.
type valueContext struct {
	context.Context
	contextValue
}

func (c *valueContext) Value(key any) any {
	if key == (contextKey{}) {
		return &c.contextValue
	}
	return c.Context.Value(key)
}

// siteKey is the key of a siteContext in a context.
type siteKey struct{}

// siteContext is a context with the site of WithSite, in one allocation. It has a separate key
// because the middleware makes a contextValue for each request, and would have to copy the site
// into it.
type siteContext struct {
	context.Context
	siteID string
}

func (c *siteContext) Value(key any) any {
	if key == (siteKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// siteFrom returns the site of ctx, or "". A nil ctx has none.
func siteFrom(ctx context.Context) string {
	if ctx == nil {
		return ""
	}
	if c, ok := ctx.Value(siteKey{}).(*siteContext); ok {
		return c.siteID
	}
	return ""
}

// valueFrom returns the innermost contextValue of ctx, or nil. A nil ctx has none.
func valueFrom(ctx context.Context) *contextValue {
	if ctx == nil {
		return nil
	}
	v, _ := ctx.Value(contextKey{}).(*contextValue)
	return v
}

// draft returns e with the site and the page of ctx where e names none.
func (e *Event) draft(ctx context.Context) draft {
	d := draft{siteID: e.SiteID, name: e.Name, url: e.URL, props: e.Props, id: e.ID}
	if d.siteID == "" {
		d.siteID = siteFrom(ctx)
	}
	if d.url != "" {
		return d
	}
	if v := valueFrom(ctx); v != nil {
		d.page, d.request = &v.page, &v.request // they never change
	}
	return d
}

// Track is [Tracker.Track] with the tracker in ctx. ctx is the context of a request below the
// middleware, at any depth, or derived from one. It may be used in a goroutine that outlives the
// request. If ctx has no tracker, Track returns [ErrNoTracker], and the event is neither counted
// nor logged.
func Track(ctx context.Context, name string, props ...Prop) error {
	v := valueFrom(ctx)
	if v == nil || !v.known {
		return ErrNoTracker
	}
	return v.tracker.Track(ctx, name, props...)
}

// TrackRoute is [Track] for adapters of routers that find the route of a request after the
// middleware has run. route is the pattern that the request of ctx matched, or "" if it is not
// known.
func TrackRoute(ctx context.Context, route, name string, props ...Prop) error {
	v := valueFrom(ctx)
	if v == nil || !v.known {
		return ErrNoTracker
	}
	if v.tracker.inactive() {
		return nil
	}
	e := Event{Name: name, Props: props}
	d := e.draft(ctx)
	if v.page.exact() == "" {
		page := v.page.WithRoute(route)
		d.page = &page
	}
	return v.tracker.accept(&d, nil)
}

// WithTracker returns a context below which the function Track uses t, for code that runs
// outside the middleware, such as background jobs.
func WithTracker(ctx context.Context, t *Tracker) context.Context {
	v := contextValue{tracker: t, known: true}
	if outer := valueFrom(ctx); outer != nil {
		v.page, v.request = outer.page, outer.request
	}
	return &valueContext{orBackground(ctx), v}
}

// WithSite returns a context below which events are of the site siteID, for programs
// that serve several sites. [Event.SiteID] takes precedence over it, and so does
// [Rule.SiteID] for the events of the rule. The innermost WithSite applies; an empty siteID
// means Config.SiteID. If siteID is blank or not valid UTF-8, [Track] returns a
// [*FieldError].
//
// A handler above the middleware may call it, for example to set the site by the
// request's host. The site then applies to the events of rules, too.
func WithSite(ctx context.Context, siteID string) context.Context {
	return &siteContext{orBackground(ctx), siteID}
}

// WithURL returns a context below which events occur on the page url, which is sent exactly as
// given. Track refuses the event if url is not absolute.
func WithURL(ctx context.Context, url string) context.Context {
	v := contextValue{page: Page{url: url}}
	if outer := valueFrom(ctx); outer != nil {
		v.tracker, v.known = outer.tracker, outer.known
	}
	return &valueContext{orBackground(ctx), v}
}

// WithPage returns a context below which Track uses t and events occur on p, for adapters. It
// returns ctx unchanged if Config.NoContextValue is set.
func (t *Tracker) WithPage(ctx context.Context, p Page) context.Context {
	if t != nil && t.noContext {
		return ctx
	}
	return &valueContext{orBackground(ctx), contextValue{tracker: t, known: true, page: p}}
}
