// Package lean delivers Footfall's events without net/http. It is for applications with so many
// events that the processor time of delivery matters. An event takes between a quarter and two
// fifths of the default transport's time, without allocations and without goroutines per
// connection.
//
//	tracker, err := lean.NewTracker(footfall.Config{…})
//
// It has the same guarantees as the default transport, and the suite in package transporttest
// tests both. It speaks HTTP/1.1 only, over TCP or TLS, directly or through the proxy of the
// environment. It parses answers as net/http does.
//
// It does not support Config.HTTPClient (custom TLS roots, client certificates, tracing in a
// RoundTripper), HTTP/2, or a proxy that refuses CONNECT. README.md has figures, limits and the
// differences from net/http.
package lean
