// Package transporttest tests HTTP transports of footfall: the meaning of answers, retries,
// Close, malformed answers, and the secrecy of the API key. The test of a transport is one
// line:
//
//	func TestTransport(t *testing.T) { transporttest.Run(t, footfall.NewHTTPTransport) }
//
// and a TestMain that calls [Main]. Rows that do not apply to a transport are named with [Without].
// Every row uses a server on a loopback socket. Requests have the headers of the default
// transport and no others; any User-Agent is accepted.
//
// Package simulation tests promises with random events and failures, in fake time.
package transporttest
