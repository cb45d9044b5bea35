package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/doctor"
	"github.com/footfall-dev/footfall/footfalltest"
)

// monitored opens the monitoring port of a server.
func withMonitor(o *server.Options) { o.HTTPHost, o.HTTPPort = "127.0.0.1", server.RANDOM_PORT }

func monitorOf(s *server.Server) string { return "http://" + s.MonitorAddr().String() }

// checked asserts the level, the finding and the remedy of a check.
func checked(t *testing.T, findings map[string]doctor.Finding, check string, l doctor.Level, found, remedy string) {
	t.Helper()
	f := findings[check]
	assert.Equal(t, l, f.Level, "%s in %+v", check, findings)
	assert.Contains(t, f.Found, found)
	assert.Contains(t, f.Remedy, remedy)
}

func TestDoctorChecksNATS(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t, withMonitor), footfalltest.NewAPI(t)
	e := at(s, api).with("FOOTFALL_NATS_MONITOR", monitorOf(s)+"/")
	findings, status := examined(t, e)
	assert.Equal(t, 0, status)
	checked(t, findings, "FOOTFALL_NATS_URL", doctor.Good, s.ClientURL()+" (from the environment)", "")
	checked(t, findings, "FOOTFALL_NATS_REPLICAS", doctor.Good, "1 (from the environment)", "")
	checked(t, findings, "FOOTFALL_NATS_MONITOR", doctor.Good, monitorOf(s)+" (from the environment)", "")
	assert.NotContains(t, findings, "FOOTFALL_NATS_CREDS")
	checked(t, findings, "NATS "+s.ClientURL(), doctor.Good, "server n0, version "+server.VERSION+", without TLS, in ", "")
	checked(t, findings, "JetStream", doctor.Good, "enabled, 0 streams", "")
	checked(t, findings, "stream", doctor.Skipped, `"FOOTFALL"`, "a program that uses stream.Open creates it")
	checked(t, findings, "sync_interval "+monitorOf(s), doctor.Good, "always", "")
	checked(t, findings, "site", doctor.Good, "site_test is example.com", "")
	assert.NotContains(t, findings, "replicas")

	p, _ := relayed(t, e)
	p.stop()
	findings, status = examined(t, e)
	assert.Equal(t, 0, status)
	checked(t, findings, "stream", doctor.Good, "has the settings", "")
	checked(t, findings, "replicas", doctor.Warn, "1: events are lost with the disk", "run three servers and set -replicas 3")
	findings, status = examined(t, e, "-replicas", "3", "-rejected-max-age", "1h", "-max-bytes", "2GiB")
	assert.Equal(t, 0, status, "programs and relays use the stream as it is")
	checked(t, findings, "-max-bytes", doctor.Good, "2GiB (from the command line)", "")
	checked(t, findings, "stream", doctor.Warn, `"FOOTFALL_REJECTED" exists with other settings: replicas is 1, not 3 (-replicas); max age is 720h0m0s, not 1h0m0s (-rejected-max-age)`, "footfall stream apply -replicas 3 -rejected-max-age 1h0m0s")
	checked(t, findings, "stream", doctor.Warn, "", "or give -replicas 1 -rejected-max-age 720h0m0s, and programs the same in stream.Config")
	got := run(t, e, "doctor", "-replicas", "3", "-max-bytes", "2GiB")
	assert.Contains(t, got.out, `warn  stream                   the NATS stream "FOOTFALL" exists with other settings: replicas is 1, not 3 (-replicas); max bytes is 1073741824, not 2147483648 (-max-bytes)`)
	findings, status = examined(t, e, "-subject", "shop.events")
	assert.Equal(t, 1, status)
	checked(t, findings, "stream", doctor.Bad, "subjects is footfall.events.rejected, not shop.events.rejected (-subject)", "give -subject footfall.events, and programs")
}

// complaints are the lines that a NATS server logs about clients.
type complaints struct {
	mu   sync.Mutex
	text strings.Builder
}

func (c *complaints) Warnf(format string, v ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(&c.text, format+"\n", v...)
}

func (c *complaints) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

func (c *complaints) Errorf(format string, v ...any) { c.Warnf(format, v...) }
func (c *complaints) Fatalf(format string, v ...any) { c.Warnf(format, v...) }
func (c *complaints) Noticef(string, ...any)         {}
func (c *complaints) Debugf(string, ...any)          {}
func (c *complaints) Tracef(string, ...any)          {}

// The user of a stream sees the log of its server, such as of footfall relay -embedded.
func TestDoctorLeavesNoTraceInNATS(t *testing.T) {
	t.Parallel()
	s, api, log := startNATSServer(t), footfalltest.NewAPI(t), new(complaints)
	s.SetLogger(log, false, false)
	js := connected(t, s.ClientURL())
	_, status := examined(t, at(s, api))
	assert.Equal(t, 0, status)
	streams := 0
	for range js.ListStreams(t.Context()).Info() {
		streams++
	}
	assert.Zero(t, streams, "it creates no stream")

	publish(t, s.ClientURL(), 5)
	findings, _ := examined(t, at(s, api))
	checked(t, findings, "permission", doctor.Good, "the user may take, acknowledge and move events", "")
	one, err := js.Stream(t.Context(), "FOOTFALL")
	require.NoError(t, err)
	assert.Zero(t, one.CachedInfo().State.Consumers, "it creates no consumer")
	assert.Equal(t, 5, messages(t, s.ClientURL(), "FOOTFALL"))
	assert.Empty(t, log.String())
}

func TestDoctorWarnsAboutSyncInterval(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	s := startNATSServer(t, withMonitor, func(o *server.Options) { o.SyncAlways, o.SyncInterval = false, 2*time.Minute })
	e := at(s, api)
	findings, status := examined(t, e)
	assert.Equal(t, 0, status, "a warning")
	checked(t, findings, "sync_interval", doctor.Skipped, "unknown: only the monitoring port of NATS reports it; with the default of 2m a power cut may lose events", "set jetstream { sync_interval: always }")
	assert.Contains(t, findings["sync_interval"].Remedy, "-nats-monitor")
	findings, _ = examined(t, e, "-nats-monitor", monitorOf(s))
	checked(t, findings, "sync_interval "+monitorOf(s), doctor.Warn, "2m0s: a power cut may lose events", "set jetstream { sync_interval: always }")

	gone := "http://" + freeAddress(t)
	page := plain(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	findings, status = examined(t, e, "-nats-monitor", gone+","+page)
	assert.Equal(t, 0, status)
	checked(t, findings, "sync_interval "+gone, doctor.Warn, "refused", "http_port")
	checked(t, findings, "sync_interval "+page, doctor.Warn, "without the configuration of JetStream", "http_port")
	findings, _ = examined(t, e, "-nats", s.ClientURL()+","+s.ClientURL(), "-nats-monitor", monitorOf(s))
	checked(t, findings, "sync_interval", doctor.Warn, "asked 1 of 2 servers", "all servers")
}

func TestDoctorOfAProgramThatPublishesNeedsNoKey(t *testing.T) {
	t.Parallel()
	s := startNATSServer(t)
	e := env{"FOOTFALL_SITE_ID": "site_test", "FOOTFALL_NATS_URL": s.ClientURL(), "FOOTFALL_NATS_REPLICAS": "1"}
	findings, status := examined(t, e)
	assert.Equal(t, 0, status, "%+v", findings)
	checked(t, findings, "FOOTFALL_API_KEY", doctor.Skipped, "a program that publishes to NATS needs none", "")
	checked(t, findings, "FOOTFALL_BASE_URL", doctor.Skipped, "a relay needs it", "")
	checked(t, findings, "JetStream", doctor.Good, "enabled", "")
	assert.NotContains(t, findings, "API")
	findings, status = examined(t, e.with("FOOTFALL_SITE_ID", ""))
	assert.Equal(t, 2, status)
	checked(t, findings, "FOOTFALL_SITE_ID", doctor.Bad, "not set", "set it to the id of a site, as the dashboard shows it")
	assert.NotContains(t, findings["FOOTFALL_SITE_ID"].Remedy, "footfall sites", "it needs a key")

	api := footfalltest.NewAPI(t)
	findings, status = examined(t, at(s, api).with("FOOTFALL_SITE_ID", ""))
	assert.Equal(t, 0, status, "%+v", findings)
	checked(t, findings, "FOOTFALL_SITE_ID", doctor.Skipped, "a relay needs none", "")
	checked(t, findings, "key", doctor.Good, "accepted", "")
	assert.NotContains(t, findings, "site")
}

func TestDoctorNamesTheFaultsOfNATS(t *testing.T) {
	t.Parallel()
	api, gone := footfalltest.NewAPI(t), freeAddress(t)
	e := func(url string) env {
		return envOf(api.URL).with("FOOTFALL_NATS_URL", url).with("FOOTFALL_NATS_REPLICAS", "1")
	}
	findings, status := examined(t, e("nats://"+gone))
	assert.Equal(t, 1, status)
	checked(t, findings, "NATS nats://"+gone, doctor.Bad, "no servers available", "check host and port in -nats or FOOTFALL_NATS_URL")
	assert.NotContains(t, findings["NATS nats://"+gone].Found, "NATS at", "the check has the address")
	checked(t, findings, "JetStream", doctor.Skipped, "no connection to NATS", "")

	s := startNATSServer(t)
	findings, status = examined(t, e("nats://"+gone+","+s.ClientURL()))
	assert.Equal(t, 0, status, "another server is there")
	checked(t, findings, "NATS nats://"+gone, doctor.Warn, "no servers available", "check host and port")
	checked(t, findings, "JetStream", doctor.Good, "enabled", "")

	closed := startNATSServer(t, func(o *server.Options) { o.Username, o.Password = "shop", "secret" })
	findings, status = examined(t, e("nats://shop:wrong@"+closed.Addr().String()))
	assert.Equal(t, 1, status)
	checked(t, findings, "NATS "+closed.ClientURL(), doctor.Bad, "uthorization", "user and password of -nats or FOOTFALL_NATS_URL: set -creds")
	assert.NotContains(t, fmt.Sprint(findings), "wrong@")

	without := startNATSServer(t, func(o *server.Options) { o.JetStream = false })
	findings, status = examined(t, e(without.ClientURL()))
	assert.Equal(t, 1, status)
	checked(t, findings, "JetStream", doctor.Bad, "jetstream not enabled", "add jetstream { store_dir")

	forbidden := startNATSServer(t, restricted)
	program := e(forbidden.ClientURL()).with("FOOTFALL_NATS_USER", "shop").with("FOOTFALL_NATS_PASSWORD", "secret")
	findings, status = examined(t, program)
	assert.Equal(t, 1, status, "a relay may do nothing")
	checked(t, findings, "permission", doctor.Bad, "", "give the user permission to publish to footfall.events.rejected")
	delete(program, "FOOTFALL_API_KEY")
	delete(program, "FOOTFALL_BASE_URL")
	findings, status = examined(t, program)
	assert.Equal(t, 0, status, "%+v", findings)
	checked(t, findings, "JetStream", doctor.Skipped, "the user has no permission to ask", "")
	checked(t, findings, "stream", doctor.Skipped, "the user has no permission to read it", "$JS.API.STREAM.INFO.FOOTFALL")
	checked(t, findings, "permission", doctor.Good, "the user may publish to footfall.events", "")
	checked(t, findings, "FOOTFALL_NATS_PASSWORD", doctor.Good, "set, 6 characters", "")
	checked(t, findings, "FOOTFALL_NATS_USER", doctor.Good, "shop (from the environment)", "")
}

// startNATSCluster starts three servers that a test may shut down.
func startNATSCluster(t *testing.T, change ...func(*server.Options)) (nodes []*server.Server, urls []string) {
	t.Helper()
	ports, routes := make([]string, 3), make([]string, 3)
	for i := range ports {
		ports[i] = freeAddress(t)
		routes[i] = "nats://" + ports[i]
	}
	nodes, urls = make([]*server.Server, 3), make([]string, 3)
	for i := range nodes {
		nodes[i] = startNATSServer(t, func(o *server.Options) {
			o.ServerName, o.Cluster = fmt.Sprintf("n%d", i), server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: portOf(t, ports[i])}
			o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
			for _, c := range change {
				c(o)
			}
		})
		urls[i] = nodes[i].ClientURL()
	}
	return nodes, urls
}

func TestDoctorCountsReplicas(t *testing.T) {
	t.Parallel()
	nodes, urls := startNATSCluster(t)
	e := envOf(footfalltest.NewAPI(t).URL).with("FOOTFALL_NATS_URL", strings.Join(urls, ","))
	p, base := relayed(t, e)
	require.Eventually(t, func() bool { status, _ := get(t, base, "/readyz"); return status == 200 }, patience, 50*time.Millisecond)
	p.stop()
	require.Eventually(t, func() bool {
		findings, _ := examined(t, e)
		return findings["replicas"].Level == doctor.Good && strings.HasPrefix(findings["replicas"].Found, "3 current, leader n")
	}, patience, 100*time.Millisecond)
	nodes[2].Shutdown()
	var findings map[string]doctor.Finding
	require.Eventually(t, func() bool { findings, _ = examined(t, e); return findings["replicas"].Level == doctor.Warn }, patience, 100*time.Millisecond)
	checked(t, findings, "replicas", doctor.Warn, "2 of 3 current, leader n", "start these servers")
	assert.Contains(t, findings["replicas"].Found, "offline or behind: n2")
	checked(t, findings, "NATS "+urls[2], doctor.Warn, "no servers available", "check host and port")
}

// The user of a relay may not ask for the account, whose answer is an error without a majority.
func TestDoctorFailsWithoutAMajorityOfTheServers(t *testing.T) {
	t.Parallel()
	nodes, urls := startNATSCluster(t, documentedUsers(t))
	e := envOf(footfalltest.NewAPI(t).URL).with("FOOTFALL_NATS_URL", strings.Join(urls, ",")).as("relay", "r")
	p, base := relayed(t, e)
	require.Eventually(t, func() bool { status, _ := get(t, base, "/readyz"); return status == 200 }, patience, 50*time.Millisecond)
	p.stop()
	nodes[1].Shutdown()
	nodes[2].Shutdown()
	var findings map[string]doctor.Finding
	var status int
	require.Eventually(t, func() bool { // for a moment the stream may not answer
		findings, status = examined(t, e)
		return strings.HasSuffix(findings["replicas"].Found, "offline or behind: n1, n2")
	}, patience, 100*time.Millisecond)
	checked(t, findings, "replicas", doctor.Bad, "NATS accepts no events", "start the")
	checked(t, findings, "JetStream", doctor.Skipped, "no permission", "")
	assert.Equal(t, 1, status)
}

func TestDoctorSaysThatItCouldNotSend(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	findings, status := examined(t, at(s, api).with("FOOTFALL_SITE_ID", ""), "-send")
	assert.Equal(t, 1, status)
	checked(t, findings, "event", doctor.Bad, "none sent, because there is no site", "set FOOTFALL_SITE_ID")
	findings, status = examined(t, at(s, api).with("FOOTFALL_BASE_URL", "").with("FOOTFALL_API_KEY", ""), "-send")
	assert.Equal(t, 1, status)
	checked(t, findings, "event", doctor.Bad, "none sent, because there is no API to send it to", "set FOOTFALL_BASE_URL")
	findings, status = examined(t, at(s, api).with("FOOTFALL_SITE_ID", ""))
	assert.Equal(t, 0, status)
	checked(t, findings, "event", doctor.Skipped, "none sent", "")
	assert.Empty(t, api.Events())
}
