package stream

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// leaveAfter is how long the connected server may fail before the link connects to another one.
// A stream whose leader was killed has another leader by then.
const leaveAfter = 10 * time.Second

// worked notes that the streams can be used.
func (l *link) worked() {
	if l.failing.Load() != 0 {
		l.failing.Store(0)
	}
}

// failed notes an error of a request. A server that is cut off from the cluster keeps its
// clients, and answers them with such errors, or not at all. After leaveAfter the link connects
// to another server.
func (l *link) failed(err error) {
	if !cutOff(err) {
		return
	}
	now := time.Now().UnixNano()
	since := l.failing.Load()
	if since == 0 {
		l.failing.CompareAndSwap(0, now)
		return
	}
	if now-since < int64(leaveAfter) || l.cfg.Conn != nil || len(l.nc.Servers()) < 2 || !l.nc.IsConnected() {
		return
	}
	if l.failing.CompareAndSwap(since, now) {
		l.log.Warn("stream: the NATS server cannot use the stream; another server is tried", "server", l.nc.ConnectedUrlRedacted(), "error", err)
		_ = l.nc.ForceReconnect() // fails only if the connection is closed
	}
}

// cutOff reports whether err may be the answer of a server that is cut off from the others, or
// no answer.
func cutOff(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode == notAvailable
	}
	_, other := errors.AsType[*SettingsError](err)
	return err != nil && !other && !errors.Is(err, nats.ErrPermissionViolation)
}

// notAvailable is the code of JetStream for a server without a leader of the cluster.
const notAvailable = 10008
