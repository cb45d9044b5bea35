//go:build !unix

package lean

import "net"

// arrivals cannot read without waiting here, so it finds nothing.
type arrivals struct{}

func newArrivals(net.Conn) *arrivals { return nil }

func (*arrivals) read([]byte) (int, error) { return 0, errNothingYet }
