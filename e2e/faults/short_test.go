//go:build ci && linux && !soak

package faults

import "time"

// These are the bounds of `make ci`. With build tag soak the tests run longer.
const (
	outageFor  = 10 * time.Second
	plainWaves = 2

	costRatesByDefault = "500"
	costKillsByDefault = 3
	costBound          = 100.0 // events, on a busy machine
)
