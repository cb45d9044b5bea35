//go:build soak && unix

package stream_test

import (
	"fmt"
	"syscall"
	"time"
)

// spent is a time, or the time between two.
type spent struct {
	at   time.Time
	wall time.Duration
	cpu  time.Duration // of this process
}

func now() spent {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for no valid argument
	return spent{at: time.Now(), cpu: time.Duration(u.Utime.Nano() + u.Stime.Nano())}
}

func (s spent) since(began spent) spent {
	return spent{wall: s.at.Sub(began.at), cpu: s.cpu - began.cpu}
}

func (s spent) plus(o spent) spent { return spent{wall: s.wall + o.wall, cpu: s.cpu + o.cpu} }

// per returns the events per second, and the processor time of one.
func (s spent) per(n int) string {
	return fmt.Sprintf("%.0f/s and %.1f µs", float64(n)/s.wall.Seconds(), float64(s.cpu.Microseconds())/float64(n))
}
