package doctor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/natsconn"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
	"github.com/footfall-dev/footfall/stream"
)

// NATSExam is what doctor examines of NATS.
type NATSExam struct {
	*Report
	Servers  *natsconn.Servers // may be none
	Settings []Finding         // that are set
	Stream   stream.Config
	Consumer string   // that relays share
	Monitors []string // URLs of monitoring ports

	use     use
	denials denials
}

// run checks the servers of NATS and the streams.
func (x *NATSExam) run(ctx context.Context) {
	x.Findings = append(x.Findings, x.Settings...)
	nc := x.reachServers()
	if nc == nil {
		x.add("JetStream", Skipped, "not asked, because there is no connection to NATS", "")
		return
	}
	defer nc.Close()
	if js := x.jetStream(ctx, nc); js != nil {
		x.streams(ctx, js)
		x.permissions(ctx, nc)
	}
	x.syncing(ctx)
}

// reachServers connects to each server, and returns one of the connections, or nil. An unreachable
// server is a warning if another one answers.
func (x *NATSExam) reachServers() (nc *nats.Conn) {
	failed := make(map[string]error)
	for _, text := range x.Servers.URLs {
		begin := time.Now()
		c, err := x.Servers.Only(text).Connect("doctor", slog.New(slog.DiscardHandler), nats.NoReconnect(), nats.ErrorHandler(x.denials.handle))
		if err != nil {
			failed[text] = err
			continue
		}
		took := time.Since(begin).Round(100 * time.Microsecond)
		x.add("NATS "+shell.ShownURL(text), Good, fmt.Sprintf("server %s, version %s, %s, in %s", c.ConnectedServerName(), c.ConnectedServerVersion(), secured(c), took), "")
		if nc == nil {
			nc = c
		} else {
			c.Close()
		}
	}
	level := Bad
	if nc != nil {
		level = Warn
	}
	for _, text := range x.Servers.URLs {
		if err := failed[text]; err != nil {
			x.diagnose("NATS "+shell.ShownURL(text), level, err)
		}
	}
	return nc
}

// diagnose adds an error of NATS.
func (x *NATSExam) diagnose(check string, l Level, err error) {
	found, remedy := x.Servers.Diagnose(err)
	x.add(check, l, found, remedy)
}

// secured says how a connection is encrypted.
func secured(nc *nats.Conn) string {
	state, err := nc.TLSConnectionState()
	if err != nil {
		return "without TLS"
	}
	return tls.VersionName(state.Version)
}

// jetStream returns nil if JetStream does not answer.
func (x *NATSExam) jetStream(ctx context.Context, nc *nats.Conn) jetstream.JetStream {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(natsconn.Timeout))
	if err != nil {
		x.diagnose("JetStream", Bad, err)
		return nil
	}
	var account *jetstream.AccountInfo
	err = x.denials.during(ctx, func(ctx context.Context) (err error) { account, err = js.AccountInfo(ctx); return err })
	switch {
	case err == nil:
		x.add("JetStream", Good, fmt.Sprintf("enabled, %d streams", account.Streams), "")
	case isDenied(err):
		x.add("JetStream", Skipped, "the user has no permission to ask for the account; programs and relays need none", "")
	default:
		x.diagnose("JetStream", Bad, err)
		return nil
	}
	return js
}

// syncRemedy says how to set sync_interval.
const syncRemedy = "set jetstream { sync_interval: always } in the configuration of each server, and restart one server after another"

// syncing reports whether the servers write events to disk before they acknowledge them. NATS does
// not tell its clients, only its monitoring port.
func (x *NATSExam) syncing(ctx context.Context) {
	if len(x.Monitors) == 0 {
		x.add("sync_interval", Skipped, "unknown: only the monitoring port of NATS reports it; with the default of 2m a power cut may lose events that NATS has acknowledged",
			syncRemedy+"; -nats-monitor http://nats-1:8222,… lets doctor ask")
		return
	}
	for _, monitor := range x.Monitors {
		x.syncingOf(ctx, monitor)
	}
	if len(x.Monitors) < len(x.Servers.URLs) {
		x.add("sync_interval", Warn, fmt.Sprintf("asked %d of %d servers", len(x.Monitors), len(x.Servers.URLs)), "list the monitoring ports of all servers in -nats-monitor")
	}
}

// syncingOf asks one server.
func (x *NATSExam) syncingOf(ctx context.Context, monitor string) {
	name := "sync_interval " + shell.ShownURL(monitor)
	config, err := monitored(ctx, monitor)
	switch {
	case err != nil:
		x.add(name, Warn, "unknown: "+err.Error(), "set -nats-monitor to the address of http_port in the server's configuration; otherwise "+syncRemedy)
	case config.SyncAlways:
		x.add(name, Good, "always", "")
	default:
		x.add(name, Warn, config.SyncInterval.String()+": a power cut may lose events that NATS has acknowledged", syncRemedy)
	}
}

// syncConfig is a part of the answer of /jsz.
type syncConfig struct {
	SyncAlways   bool          `json:"sync_always"`
	SyncInterval time.Duration `json:"sync_interval"`
	StoreDir     string        `json:"store_dir"`
}

// monitored asks a monitoring port.
func monitored(ctx context.Context, monitor string) (syncConfig, error) {
	ctx, cancel := context.WithTimeout(ctx, shell.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, monitor+"/jsz", nil)
	if err != nil {
		return syncConfig{}, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return syncConfig{}, err
	}
	defer answer.Body.Close()
	var found struct{ Config syncConfig }
	if err := json.NewDecoder(answer.Body).Decode(&found); err != nil || answer.StatusCode != http.StatusOK || found.Config.StoreDir == "" {
		return syncConfig{}, fmt.Errorf("GET %s/jsz answered %s without the configuration of JetStream", shell.ShownURL(monitor), answer.Status)
	}
	return found.Config, nil
}
