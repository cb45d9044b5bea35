package main

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// serverLog passes warnings and errors of the embedded server to the log of the relay.
type serverLog struct {
	log *slog.Logger

	mu    sync.Mutex
	fatal string
}

var _ server.Logger = (*serverLog)(nil)

// startTime bounds the start of the server, which reads its files.
const startTime = time.Minute

// awaits reports whether the server is ready. It returns false as soon as the server cannot run.
func (l *serverLog) awaits(ready func(time.Duration) bool) bool {
	for began := time.Now(); time.Since(began) < startTime; {
		if ready(50 * time.Millisecond) {
			return true
		}
		l.mu.Lock()
		failed := l.fatal != ""
		l.mu.Unlock()
		if failed {
			return false
		}
	}
	return false
}

// why returns why the server cannot run.
func (l *serverLog) why() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" {
		return "it was not ready in time"
	}
	return l.fatal
}

// Fatalf implements server.Logger. The server stops after it.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fatal = fmt.Sprintf(format, v...)
}

// Errorf implements server.Logger.
func (l *serverLog) Errorf(format string, v ...any) {
	l.log.Error("embedded NATS server: " + fmt.Sprintf(format, v...))
}

// Warnf implements server.Logger.
func (l *serverLog) Warnf(format string, v ...any) {
	l.log.Warn("embedded NATS server: " + fmt.Sprintf(format, v...))
}

// Noticef implements server.Logger.
func (l *serverLog) Noticef(string, ...any) {}

// Debugf implements server.Logger.
func (l *serverLog) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (l *serverLog) Tracef(string, ...any) {}
