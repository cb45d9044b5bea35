package footfall

import (
	"context"
	"slices"
)

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

// defaultsKey is the key of a defaultsContext in a context.
type defaultsKey struct{}

// defaultsContext is a context with what events below it have unless they set it themselves, in one allocation. It
// has a separate key because the middleware makes a contextValue for each request, and would have to copy it.
type defaultsContext struct {
	context.Context
	defaults
}

// defaults are the site of WithSite, or "", the props of WithProps, each key once, and the touch of WithTouch, or nil. They
// never change.
type defaults struct {
	siteID string
	props  []Prop
	touch  *Touch
}

func (c *defaultsContext) Value(key any) any {
	if key == (defaultsKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// defaultsFrom returns the defaults of ctx. A nil ctx has none.
func defaultsFrom(ctx context.Context) (d defaults) {
	if ctx == nil {
		return d
	}
	if c, ok := ctx.Value(defaultsKey{}).(*defaultsContext); ok {
		return c.defaults
	}
	return d
}

// valueFrom returns the innermost contextValue of ctx, or nil. A nil ctx has none.
func valueFrom(ctx context.Context) *contextValue {
	if ctx == nil {
		return nil
	}
	v, _ := ctx.Value(contextKey{}).(*contextValue)
	return v
}

// draft returns e with the props of ctx, and with its site and page where e names none.
func (e *Event) draft(ctx context.Context) draft {
	from := defaultsFrom(ctx)
	d := draft{siteID: e.SiteID, name: e.Name, url: e.URL, props: e.Props, more: from.props, touch: from.touch, id: e.ID}
	if d.siteID == "" {
		d.siteID = from.siteID
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
	return v.tracker.accept(&d)
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
	d := defaultsFrom(ctx)
	d.siteID = siteID
	return &defaultsContext{orBackground(ctx), d}
}

// WithProps returns a context below which events have props, too, such as the tenant of a request. Props of the
// event itself with the same key take precedence, those of a rule included, and so do those of an inner WithProps. They
// take precedence over [Config.Props]. WithProps does not keep props. If one of them is bad, Track returns a [*FieldError] that names it.
//
// As with [WithSite], a handler above the middleware may call it, and events of rules then have the props, too.
func WithProps(ctx context.Context, props ...Prop) context.Context {
	d := defaultsFrom(ctx)
	d.props = slices.Clip(lastOfEach(slices.Concat(d.props, props)))
	return &defaultsContext{orBackground(ctx), d}
}

// WithURL returns a context below which events occur on the page url, which is sent exactly as
// given. Track refuses the event if url is not absolute.
func WithURL(ctx context.Context, url string) context.Context {
	v := contextValue{page: Page{url: url}}
	if outer := valueFrom(ctx); outer != nil {
		v.tracker, v.known, v.request = outer.tracker, outer.known, outer.request
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
