// Package freeport finds ports for servers that are told theirs before they start, in tests and examples.
package freeport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports returns n ports of 127.0.0.1 on which nothing listens. They are below those that Linux gives to
// connections (32768 and more), so that no connection takes one before its server starts, or starts again.
func Ports(n int) (ports []int, err error) {
	for tries := 0; len(ports) < n; tries++ {
		port := 10_000 + rand.IntN(22_000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		switch {
		case err == nil:
			defer l.Close() // after all, so that no port is returned twice
			ports = append(ports, port)
		case tries > 100*n:
			return nil, errors.Join(errors.New("freeport: no free port found"), err)
		}
	}
	return ports, nil
}
