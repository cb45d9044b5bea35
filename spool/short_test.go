//go:build !soak

package spool_test

import "time"

// These are the bounds of `go test`. With build tag soak the tests run longer.
const (
	trackKills = 8
	trackLife  = 300 * time.Millisecond
)
