// Package embedded runs a NATS server inside a relay.
package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// Options are the settings of the server.
type Options struct {
	Dir     string // of the events; empty for no server
	Address string // to listen on; empty for 127.0.0.1:4222
}

// startTime bounds the start of the server, which reads its files.
const startTime = time.Minute

// Start starts the server and returns its URL. Call stop to end it.
func Start(o Options, log *slog.Logger) (url string, stop func(), err error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("-embedded or FOOTFALL_EMBEDDED: %w: choose a directory that can be written", err)
	}
	lock := flock.New(filepath.Join(o.Dir, "footfall.lock"))
	locked, err := lock.TryLock()
	if err != nil || !locked {
		return "", nil, fmt.Errorf("-embedded or FOOTFALL_EMBEDDED: %q: %w: choose another directory, or end the other process", o.Dir, cmp.Or(err, errors.New("another process uses it")))
	}
	s, err := start(o, log)
	if err != nil {
		_ = lock.Close()
		return "", nil, err
	}
	return reachable(s), func() {
		s.Shutdown()
		s.WaitForShutdown()
		_ = lock.Close() // the process ends
	}, nil
}

func start(o Options, log *slog.Logger) (*server.Server, error) {
	host, service, _ := net.SplitHostPort(cmp.Or(o.Address, "127.0.0.1:4222"))
	port, _ := net.LookupPort("tcp", service) // the command line has been checked
	s, err := server.NewServer(&server.Options{
		ServerName: "footfall", Host: host, Port: cmp.Or(port, server.RANDOM_PORT),
		JetStream: true, StoreDir: o.Dir, SyncAlways: true,
		NoSigs: true,
	})
	if err != nil {
		return nil, fmt.Errorf("-embedded or FOOTFALL_EMBEDDED: %w", err)
	}
	l := &serverLog{log: log}
	s.SetLogger(l, false, false)
	s.Start()
	if l.awaits(s.ReadyForConnections) && s.JetStreamEnabled() {
		if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
			log.Warn("other machines can reach the embedded NATS server, which has no credentials", "address", s.Addr())
		}
		return s, nil
	}
	s.Shutdown()
	s.WaitForShutdown()
	return nil, fmt.Errorf("the embedded NATS server does not start on %s with the files in %q: %s: choose another -embedded-listen or -embedded",
		net.JoinHostPort(host, strconv.Itoa(port)), o.Dir, l.why())
}

// reachable returns an address at which programs on this machine reach the server.
func reachable(s *server.Server) string {
	at, ok := s.Addr().(*net.TCPAddr)
	if ok && at.IP.IsUnspecified() {
		return "nats://127.0.0.1:" + strconv.Itoa(at.Port)
	}
	return "nats://" + s.Addr().String()
}

// serverLog passes warnings and errors of the embedded server to the log of the relay.
type serverLog struct {
	log   *slog.Logger
	fatal atomic.Pointer[string]
}

var _ server.Logger = (*serverLog)(nil)

// awaits reports whether the server is ready. It returns false as soon as the server cannot run.
func (l *serverLog) awaits(ready func(time.Duration) bool) bool {
	for began := time.Now(); l.fatal.Load() == nil && time.Since(began) < startTime; {
		if ready(50 * time.Millisecond) {
			return true
		}
	}
	return false
}

// why returns why the server cannot run.
func (l *serverLog) why() string {
	if text := l.fatal.Load(); text != nil {
		return *text
	}
	return "it was not ready in time"
}

// Fatalf implements server.Logger. The server stops after it.
func (l *serverLog) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.fatal.Store(&text)
}

// Errorf implements server.Logger.
func (l *serverLog) Errorf(format string, v ...any) {
	l.log.Error("embedded NATS server: " + fmt.Sprintf(format, v...))
}

// Warnf implements server.Logger.
func (l *serverLog) Warnf(format string, v ...any) {
	l.log.Warn("embedded NATS server: " + fmt.Sprintf(format, v...))
}

// Noticef, Debugf and Tracef implement server.Logger.
func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}
