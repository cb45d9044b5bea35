//go:build ci && linux && soak

package faults

import "time"

const (
	outageFor  = time.Minute
	plainWaves = 17 // of plainTogether kills each: some 50

	costRatesByDefault = "1,100,500,10000"
	costKillsByDefault = 12
	costBound          = 10.0 // events in the mean
)
