// Package lean delivers Footfall's events without net/http, for applications that track
// so many that the processor time of delivery counts: between a quarter and two fifths of
// what the default transport takes per event, no allocations and no goroutines per connection.
//
//	tracker, err := lean.NewTracker(footfall.Config{…})
//
// It keeps what the default transport promises, and the same suite (package
// transporttest) holds both to it. It speaks HTTP/1.1 only, over TCP or TLS, directly or
// through the proxy of the environment. It reads answers as net/http does.
//
// It does not support Config.HTTPClient (own TLS roots, client certificates, tracing
// in a RoundTripper), HTTP/2, or a proxy that refuses CONNECT. README.md has
// figures, limits and the differences from net/http.
package lean
