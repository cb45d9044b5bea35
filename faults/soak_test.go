//go:build linux && soak

package faults

import "time"

const (
	outageFor  = time.Minute
	plainWaves = 17 // of plainTogether kills each: some 50
)
