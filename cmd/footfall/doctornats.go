package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall/stream"
)

func monitorFlag() cli.Flag {
	return option("nats-monitor", "FOOTFALL_NATS_MONITOR", "the `URLS` of the monitoring ports of the NATS servers, separated by commas, such as http://nats-1:8222")
}

// monitors reads the URLs of the monitoring ports.
func (v *values) monitors() (urls []string) {
	for text := range strings.SplitSeq(v.String("nats-monitor"), ",") {
		text = strings.TrimRight(strings.TrimSpace(text), "/")
		if text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			v.report("nats-monitor", "is not a list of URLs such as http://nats-1:8222")
			return nil
		}
		urls = append(urls, text)
	}
	return urls
}

// natsSettings reports the settings of NATS that are set, and where they came from.
func (v *values) natsSettings() (list []finding) {
	add := func(name, value, source string) {
		list = append(list, finding{name, good, value + " (from the " + source + ")", ""})
	}
	for _, f := range append(append(natsFlags(), streamFlags()...), monitorFlag()) {
		name, variable := f.Names()[0], f.(cli.DocGenerationFlag).GetEnvVars()[0]
		value, source := v.String(name), "command line"
		if value == "" {
			continue
		}
		if os.Getenv(variable) == value {
			name, source = variable, "environment"
		} else {
			name = "-" + name
		}
		switch f.Names()[0] {
		case "nats":
			value = v.servers().shown()
		case "nats-monitor":
			value = shownURLs(v.monitors())
		}
		add(name, value, source)
	}
	if user := os.Getenv(userVariable); user != "" {
		add(userVariable, user, "environment")
		add(passwordVariable, fmt.Sprintf("set, %d characters", len(os.Getenv(passwordVariable))), "environment")
	}
	return list
}

// nats checks the servers of NATS and the streams.
func (x *exam) nats(ctx context.Context) {
	x.Findings = append(x.Findings, x.given...)
	nc := x.reachServers()
	if nc == nil {
		x.add("JetStream", skipped, "not asked, because there is no connection to NATS", "")
		return
	}
	defer nc.Close()
	if x.jetStream(ctx, nc) {
		x.streams(ctx, nc)
	}
	x.syncing(ctx)
}

// reachServers connects to each server, and returns one of the connections, or nil. A server that
// is away is a warning if another one is there.
func (x *exam) reachServers() (nc *nats.Conn) {
	quiet := slog.New(slog.DiscardHandler)
	failed := make(map[string]error)
	for _, text := range x.servers.urls {
		one := &servers{urls: []string{text}, flag: x.servers.flag, as: x.servers.as, options: x.servers.options}
		begin := time.Now()
		c, err := one.connect("doctor", quiet, nats.NoReconnect())
		if err != nil {
			failed[text] = err
			continue
		}
		took := time.Since(begin).Round(100 * time.Microsecond)
		x.add("NATS "+shownURL(text), good, fmt.Sprintf("server %s, version %s, %s, in %s", c.ConnectedServerName(), c.ConnectedServerVersion(), secured(c), took), "")
		if nc == nil {
			nc = c
		} else {
			c.Close()
		}
	}
	for _, text := range x.servers.urls {
		if e, ok := errors.AsType[*natsError](failed[text]); ok {
			l := bad
			if nc != nil {
				l = warn
			}
			x.add("NATS "+shownURL(text), l, reasonOf(e.err), e.remedy)
		}
	}
	return nc
}

// secured says how a connection is encrypted.
func secured(nc *nats.Conn) string {
	state, err := nc.TLSConnectionState()
	if err != nil {
		return "without TLS"
	}
	return tls.VersionName(state.Version)
}

// jetStream reports whether JetStream answers.
func (x *exam) jetStream(ctx context.Context, nc *nats.Conn) bool {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(natsTimeout))
	if err != nil {
		x.add("JetStream", bad, err.Error(), x.servers.remedy(err))
		return false
	}
	account, err := js.AccountInfo(ctx)
	switch {
	case err == nil:
		x.add("JetStream", good, fmt.Sprintf("enabled, %d streams", account.Streams), "")
		return true
	case errors.Is(nc.LastError(), nats.ErrPermissionViolation):
		x.add("JetStream", skipped, "the user may not ask; a program that only publishes need not", "to check the stream, run doctor with -creds of a user that may use $JS.API.>")
	default:
		x.add("JetStream", bad, reasonOf(err), x.servers.remedy(err))
	}
	return false
}

// streams compares the streams with the settings, and reports what keeps them.
func (x *exam) streams(ctx context.Context, nc *nats.Conn) {
	cfg := x.stream
	cfg.Conn, cfg.Logger = nc, slog.New(slog.DiscardHandler)
	err := stream.Check(ctx, cfg)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		x.add("stream", skipped, reasonOf(err), x.servers.remedy(err))
		return
	}
	for _, e := range each(err) {
		if different, ok := errors.AsType[*stream.SettingsError](e); ok {
			found, remedy := differences(different)
			x.add("stream", bad, found, remedy)
			continue
		}
		x.add("stream", bad, reasonOf(e), x.servers.remedy(e))
	}
	if err == nil {
		x.add("stream", good, "has the settings of -stream, -subject, -replicas and the other flags", "")
	}
	x.replicas(ctx, nc)
}

// each returns the errors that err joins.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// replicas reports which servers keep the events.
func (x *exam) replicas(ctx context.Context, nc *nats.Conn) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(natsTimeout))
	if err != nil {
		return // jetStream has reported it
	}
	s, err := js.Stream(ctx, streamName(x.stream))
	if err != nil {
		return // streams has reported it
	}
	info := s.CachedInfo()
	if info.Config.Replicas == 1 {
		x.add("replicas", warn, "1: events are lost with the disk of their server", "for a fleet, run three servers and set -replicas 3, with nats stream edit for a stream that exists")
		return
	}
	var behind []string
	leader := ""
	if info.Cluster != nil {
		leader = info.Cluster.Leader
		for _, p := range info.Cluster.Replicas {
			if p.Offline || !p.Current {
				behind = append(behind, p.Name)
			}
		}
	}
	if len(behind) == 0 {
		x.add("replicas", good, fmt.Sprintf("%d in step, leader %s", info.Config.Replicas, leader), "")
		return
	}
	x.add("replicas", warn, fmt.Sprintf("%d of %d in step, leader %s; away or behind: %s", info.Config.Replicas-len(behind), info.Config.Replicas, leader, strings.Join(behind, ", ")),
		"start these servers, or wait until they have caught up: with a majority away, NATS accepts no events")
}

// syncRemedy says how to set sync_interval.
const syncRemedy = "set jetstream { sync_interval: always } in the configuration of each server, and restart one server after another"

// syncing reports whether the servers write events to disk before they acknowledge them. NATS does
// not tell its clients, only its monitoring port.
func (x *exam) syncing(ctx context.Context) {
	if len(x.monitors) == 0 {
		x.add("sync_interval", warn, "not known: NATS tells it only at the monitoring port; with the default of 2m a power cut may lose events that NATS has acknowledged",
			syncRemedy+"; -nats-monitor http://nats-1:8222,… lets doctor ask")
		return
	}
	for _, monitor := range x.monitors {
		x.syncingOf(ctx, monitor)
	}
	if asked, all := len(x.monitors), len(x.servers.urls); asked < all {
		x.add("sync_interval", warn, fmt.Sprintf("asked %d of %d servers", asked, all), "list the monitoring ports of all servers in -nats-monitor")
	}
}

// syncingOf asks one server.
func (x *exam) syncingOf(ctx context.Context, monitor string) {
	name := "sync_interval " + shownURL(monitor)
	config, err := monitored(ctx, monitor)
	switch {
	case err != nil:
		x.add(name, warn, "not known: "+err.Error(), "set -nats-monitor to the address of http_port in the server's configuration; otherwise "+syncRemedy)
	case config.SyncAlways:
		x.add(name, good, "always", "")
	default:
		x.add(name, warn, config.SyncInterval.String()+": a power cut may lose events that NATS has acknowledged", syncRemedy)
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
	ctx, cancel := context.WithTimeout(ctx, timeout)
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
		return syncConfig{}, fmt.Errorf("GET %s/jsz answered %s without the configuration of JetStream", shownURL(monitor), answer.Status)
	}
	return found.Config, nil
}
