// Package transporttest holds HTTP transports of footfall to the same promises: what an
// answer means, what is sent again and when, what Close still does, which answers a
// client has to survive, and that the API key is told to nobody. A test of a transport
// is one line:
//
//	func TestTransport(t *testing.T) { transporttest.Run(t, footfall.NewHTTPTransport) }
//
// and TestMain calls Main. Every row runs against a server on a loopback socket.
//
// Package simulation tests promises with random events and failures, in fake time.
package transporttest
