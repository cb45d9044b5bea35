package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// embeddedOptions are the settings of the server inside of a relay.
type embeddedOptions struct {
	dir  string // empty for none
	host string
	port int
}

// embedded reads the flags of the server inside of the relay.
func (v *values) embedded() embeddedOptions {
	o := embeddedOptions{dir: v.String("embedded"), host: "127.0.0.1", port: server.DEFAULT_PORT}
	listen := v.address("embedded-listen", "127.0.0.1:4222")
	if o.dir == "" {
		if listen != "" {
			v.report("embedded-listen", "needs "+v.both("embedded"))
		}
		return o
	}
	for _, name := range []string{"nats", "creds", "tlsca", "tlscert", "tlskey"} {
		if v.String(name) != "" {
			v.problems = append(v.problems, fmt.Errorf("%s: set, and so is %s, whose server has no other address and no credentials: set only one of them", v.both(name), v.both("embedded")))
		}
	}
	if os.Getenv(userVariable) != "" {
		v.problems = append(v.problems, fmt.Errorf("%s: set, and so is %s, whose server has no users: set only one of them", userVariable, v.both("embedded")))
	}
	if text := v.String("replicas"); text != "" && text != "1" {
		v.report("replicas", "is not 1: the embedded server keeps one replica; omit it")
	}
	if listen != "" {
		host, port, _ := net.SplitHostPort(listen) // address has split it
		o.host = host
		o.port, _ = net.LookupPort("tcp", port)
		if o.port == 0 {
			o.port = server.RANDOM_PORT
		}
	}
	return o
}

// embed starts the server inside and makes it the one of the relay. Call stop to end it.
func (o *relayOptions) embed(log *slog.Logger) (stop func(), err error) {
	e := &o.embedded
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return nil, fmt.Errorf("-embedded or FOOTFALL_EMBEDDED: %w: choose a directory that can be written", err)
	}
	lock := flock.New(filepath.Join(e.dir, "footfall.lock"))
	locked, err := lock.TryLock()
	if err != nil || !locked {
		return nil, fmt.Errorf("-embedded or FOOTFALL_EMBEDDED: %q: %w: choose another directory, or end the other process", e.dir, firstOf(err, errors.New("another process uses it")))
	}
	s, err := startNATS(e, log)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	o.servers.urls = []string{reachable(s)}
	if ip, err := netip.ParseAddr(e.host); err != nil || !ip.IsLoopback() {
		log.Warn("other machines can reach the embedded NATS server, which has no credentials", "address", s.Addr())
	}
	return func() {
		s.Shutdown()
		s.WaitForShutdown()
		_ = lock.Close() // the process ends
	}, nil
}

func startNATS(e *embeddedOptions, log *slog.Logger) (*server.Server, error) {
	s, err := server.NewServer(&server.Options{
		ServerName: "footfall", Host: e.host, Port: e.port,
		JetStream: true, StoreDir: e.dir, SyncAlways: true,
		NoSigs: true,
	})
	if err != nil {
		return nil, fmt.Errorf("-embedded or FOOTFALL_EMBEDDED: %w", err)
	}
	l := &serverLog{log: log}
	s.SetLogger(l, false, false)
	s.Start()
	if l.awaits(s.ReadyForConnections) && s.JetStreamEnabled() {
		return s, nil
	}
	s.Shutdown()
	s.WaitForShutdown()
	return nil, fmt.Errorf("the embedded NATS server does not start on %s with the files in %q: %s: choose another -embedded-listen or -embedded",
		net.JoinHostPort(e.host, strconv.Itoa(e.port)), e.dir, l.why())
}

// reachable returns an address at which programs of this machine reach the server.
func reachable(s *server.Server) string {
	at, ok := s.Addr().(*net.TCPAddr)
	if ok && at.IP.IsUnspecified() {
		return "nats://127.0.0.1:" + strconv.Itoa(at.Port)
	}
	return "nats://" + s.Addr().String()
}
