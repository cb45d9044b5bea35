//go:build linux && !soak

package faults

import "time"

// What `go test` runs; build tag soak runs longer.
const (
	outageFor  = 10 * time.Second
	plainWaves = 2

	costRatesByDefault = "500"
	costKillsByDefault = 3
	costBound          = 100.0 // events, on a busy machine
)
