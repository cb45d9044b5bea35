//go:build !unix

package lean

import "net"

// arrivals finds nothing, because a non-blocking read is not implemented here.
type arrivals struct{}

func newArrivals(net.Conn) *arrivals { return nil }

func (*arrivals) read([]byte) (n int, arrived bool, err error) { return 0, false, nil }
