//go:build soak

package spool_test

import "time"

const (
	trackKills = 100
	trackLife  = time.Second
)
