package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/doctor"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/natsconn"
	"github.com/footfall-dev/footfall/footfalltest"
)

// authority signs certificates for 127.0.0.1.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(raw)
	require.NoError(t, err)
	a.file = a.write("CERTIFICATE", raw)
	return a
}

func (a *authority) write(kind string, raw []byte) string {
	name := filepath.Join(a.t.TempDir(), "x.pem")
	require.NoError(a.t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600))
	return name
}

// issue returns the files of a certificate and its key.
func (a *authority) issue() (cert, key string) { return a.issueUntil(time.Now().Add(time.Hour)) }

func (a *authority) issueUntil(end time.Time) (cert, key string) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: end,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, &private.PublicKey, a.key)
	require.NoError(a.t, err)
	der, err := x509.MarshalECPrivateKey(private)
	require.NoError(a.t, err)
	return a.write("CERTIFICATE", raw), a.write("EC PRIVATE KEY", der)
}

func TestTLSAndClientCertificates(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	cert, key := ours.issue()
	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(ours.cert)
	s := startNATSServer(t, func(o *server.Options) {
		o.TLS, o.TLSVerify, o.TLSTimeout = true, true, 5
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	})
	url := "tls://" + s.Addr().String()
	e := envOf(footfalltest.NewAPI(t).URL).with("FOOTFALL_NATS_URL", url).with("FOOTFALL_NATS_REPLICAS", "1")
	right := []string{"-tlsca", ours.file, "-tlscert", cert, "-tlskey", key}
	findings, status := examined(t, e, right...)
	assert.Equal(t, 0, status, "%+v", findings)
	checked(t, findings, "NATS "+url, doctor.Good, "TLS 1.3", "")
	p, _ := relayed(t, e, right...)
	assert.Equal(t, 0, p.stop().status)

	otherCert, otherKey := newAuthority(t).issue()
	for name, row := range map[string]struct {
		args   []string
		remedy string
	}{
		"no authority":      {[]string{"-tlscert", cert, "-tlskey", key}, "set -tlsca to the authority's certificate"},
		"no certificate":    {[]string{"-tlsca", ours.file}, "set -tlscert and -tlskey"},
		"other certificate": {[]string{"-tlsca", ours.file, "-tlscert", otherCert, "-tlskey", otherKey}, "set -tlscert and -tlskey"},
	} {
		got := run(t, e, append([]string{"rejected", "list"}, row.args...)...)
		assert.Equal(t, 1, got.status, name)
		assert.Contains(t, got.err, row.remedy, name)
	}
	got := run(t, e.with("FOOTFALL_NATS_URL", "nats://localhost:"+fmt.Sprint(portOf(t, s.Addr().String()))), append([]string{"rejected", "list"}, right...)...)
	assert.Contains(t, got.err, "the certificate is for another host")
	clear := startNATSServer(t)
	got = run(t, e.with("FOOTFALL_NATS_URL", clear.ClientURL()), "rejected", "list", "-tlsca", ours.file)
	assert.Contains(t, got.err, "the server does not offer TLS")
}

func TestACertificateThatHasExpiredIsNamed(t *testing.T) {
	t.Parallel()
	ours, api := newAuthority(t), footfalltest.NewAPI(t)
	pool := x509.NewCertPool()
	pool.AddCert(ours.cert)
	cert, key := ours.issue()
	oldCert, oldKey := ours.issueUntil(time.Now().Add(-time.Hour))
	serve := func(cert, key string) env {
		pair, err := tls.LoadX509KeyPair(cert, key)
		require.NoError(t, err)
		s := startNATSServer(t, func(o *server.Options) {
			o.TLS, o.TLSVerify, o.TLSTimeout = true, true, 5
			o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
		})
		return envOf(api.URL).with("FOOTFALL_NATS_URL", "tls://"+s.Addr().String()).with("FOOTFALL_NATS_REPLICAS", "1")
	}
	got := run(t, serve(oldCert, oldKey), "rejected", "list", "-tlsca", ours.file, "-tlscert", cert, "-tlskey", key)
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "the server's certificate has expired or is not valid yet: renew it, or correct the clock of this machine")
	assert.NotContains(t, got.err, "set -tlscert")
	got = run(t, serve(cert, key), "rejected", "list", "-tlsca", ours.file, "-tlscert", oldCert, "-tlskey", oldKey)
	assert.Contains(t, got.err, "the server does not accept this client's certificate: set -tlscert and -tlskey to one that is valid")
}

// natsCommands are the commands that connect to NATS and end.
var natsCommands = map[string][]string{
	"relay": {"relay"}, "tail": {"tail"}, "list": {"rejected", "list"}, "retry": {"rejected", "retry"}, "purge": {"rejected", "purge", "-yes"},
}

func TestWrongCredentialsAreNamed(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	s := startNATSServer(t, func(o *server.Options) { o.Username, o.Password = "shop", "secret-1" })
	for name, args := range natsCommands {
		e := at(s, api).with("FOOTFALL_NATS_USER", "shop").with("FOOTFALL_NATS_PASSWORD", "secret-2")
		got := run(t, e, args...)
		assert.Equal(t, 1, got.status, "%s: %+v", name, got)
		assert.Contains(t, got.err, "NATS at "+s.ClientURL()+": ", name)
		assert.Contains(t, got.err, "uthorization", name)
		assert.Contains(t, got.err, `user "shop" of FOOTFALL_NATS_USER: set -creds`, name)
		assert.NotContains(t, got.err+got.out, "secret-2", "the password is a secret")
	}
	got := run(t, at(s, api), "rejected", "list")
	assert.Contains(t, got.err, "no credentials were given: set -creds")
	right := "nats://shop:secret-1@" + s.Addr().String()
	got = run(t, at(s, api).with("FOOTFALL_NATS_URL", right), "rejected", "list")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "NATS at "+s.ClientURL()+` has no stream "FOOTFALL_REJECTED": the first relay creates it`)
	assert.NotContains(t, got.err, "secret-1")

	p, _ := relayed(t, at(s, api).with("FOOTFALL_NATS_USER", "shop").with("FOOTFALL_NATS_PASSWORD", "secret-1"))
	assert.Equal(t, 0, p.stop().status)
}

// credsFile writes a credentials file of a user that no server knows.
func credsFile(t *testing.T) string {
	t.Helper()
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	seed, err := user.Seed()
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "nats.creds")
	text := "-----BEGIN NATS USER JWT-----\neyJ0eXAiOiJKV1QifQ.eyJuYW1lIjoieCJ9.c2ln\n------END NATS USER JWT------\n\n" +
		"-----BEGIN USER NKEY SEED-----\n" + string(seed) + "\n------END USER NKEY SEED------\n"
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func TestACredentialsFileIsSent(t *testing.T) {
	t.Parallel()
	api, file := footfalltest.NewAPI(t), credsFile(t)
	s := startNATSServer(t, func(o *server.Options) { o.Username, o.Password = "shop", "secret" })
	got := run(t, at(s, api), "rejected", "-creds", file, "list")
	assert.Equal(t, 2, got.status, "flags follow the command: %+v", got)
	got = run(t, at(s, api), "rejected", "list", "-creds", file)
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "credentials of "+file+": set -creds")
}

func TestAStreamThatARelayCannotUseIsNamed(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	publish(t, s.ClientURL(), 1)
	got := run(t, at(s, api), "relay", "-subject", "shop.events")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, `the NATS stream "FOOTFALL" exists with other settings: subjects is footfall.events, not shop.events (-subject): give -subject footfall.events, and programs the same in stream.Config, or`)
	got = run(t, at(s, api), "relay", "-subject", "shop.events", "-max-bytes", "2GiB")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, `subjects is footfall.events, not shop.events (-subject); max bytes is 1073741824, not 2147483648 (-max-bytes): change the stream with nats stream edit FOOTFALL, or use another -stream and -subject`)

	p, _ := relayed(t, at(s, api), "-stream", "OTHER", "-subject", "other.events", "-max-bytes", "2GiB", "-duplicate-window", "30s")
	assert.Equal(t, 0, p.stop().status)
	assert.Zero(t, messages(t, s.ClientURL(), "OTHER_REJECTED"))
}

func TestTheDocumentedDefaultsAreThoseOfTheStream(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/tools.md")
	require.NoError(t, err)
	page := string(text)
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	p, _ := relayed(t, at(s, api)) // creates the streams with the defaults
	assert.Equal(t, 0, p.stop().status)
	var args []string
	for flag, value := range map[string]string{
		"-stream": "FOOTFALL", "-subject": "footfall.events", "-max-bytes": "1GiB", "-max-age": "168h", "-duplicate-window": "2m",
		"-rejected-max-bytes": "64MiB", "-rejected-max-age": "720h",
	} {
		assert.Regexp(t, "(?m)^\\|.*`"+flag+"`.*"+value, page)
		args = append(args, flag, value)
	}
	findings, status := examined(t, at(s, api), args...)
	assert.Equal(t, 0, status)
	checked(t, findings, "stream", doctor.Good, "has the settings", "")
	for _, f := range append(natsconn.Flags(), natsconn.StreamFlags()...) {
		doc := f.(cli.DocGenerationFlag)
		assert.Contains(t, page, "`-"+f.Names()[0]+"`")
		assert.Contains(t, page, "`"+doc.GetEnvVars()[0]+"`")
		assert.Contains(t, doc.GetUsage(), "`")
	}
}

func TestAnUnreachableNATSServerIsNamed(t *testing.T) {
	t.Parallel()
	api, address := footfalltest.NewAPI(t), freeAddress(t)
	for name, args := range natsCommands {
		if name == "relay" {
			continue // waits
		}
		got := run(t, envOf(api.URL), append(args, "-nats", address)...)
		assert.Equal(t, 1, got.status, name)
		assert.Contains(t, got.err, "NATS at nats://"+address+": ", name)
		assert.Contains(t, got.err, "check host and port in -nats or FOOTFALL_NATS_URL", name)
	}
	got := run(t, env{}, "tail", "-nats", "tls://nats.footfall.invalid")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "NATS at tls://nats.footfall.invalid: ")
}

// restricted makes a user who may only publish events.
func restricted(o *server.Options) {
	o.Users = []*server.User{{Username: "shop", Password: "secret", Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{"footfall.events"}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
	}}}
}

func TestAMissingPermissionIsNamed(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t, documentedUsers(t)), footfalltest.NewAPI(t)
	p, base := relayed(t, at(s, api).as("relay", "r"))
	api.Always(footfalltest.Status(422))
	publishAs(t, s, "operator", "o", 1)
	require.Eventually(t, func() bool { return scraped(t, base)["footfall_relay_rejected_stored_events"] == 1 }, patience, 50*time.Millisecond)
	assert.Equal(t, 0, p.stop().status)
	const operator = ", or use the user of an operator"
	for name, row := range map[string]struct {
		user, verb, subject string
		args                []string
		or                  string
	}{
		"tail":            {"program", "Subscription", "footfall.events", []string{"tail"}, operator},
		"rejected list":   {"program", "Publish", "$JS.API.STREAM.INFO.FOOTFALL_REJECTED", []string{"rejected", "list"}, operator},
		"rejected show":   {"relay", "Publish", "$JS.API.STREAM.MSG.GET.FOOTFALL_REJECTED", []string{"rejected", "show", "1"}, operator},
		"rejected purge":  {"relay", "Publish", "$JS.API.STREAM.PURGE.FOOTFALL_REJECTED", []string{"rejected", "purge", "-yes"}, operator},
		"another stream":  {"relay", "Publish", "$JS.API.STREAM.INFO.FOOTFALL_B_REJECTED", []string{"rejected", "retry", "-stream", "FOOTFALL_B"}, operator},
		"stream apply":    {"relay", "Publish", "$JS.API.STREAM.UPDATE.FOOTFALL", []string{"stream", "apply", "-max-bytes", "2GiB"}, operator},
		"another relay":   {"relay", "Publish", "$JS.API.CONSUMER.CREATE.FOOTFALL.other", []string{"relay", "-consumer", "other"}, ""},
		"not for a relay": {"program", "Publish", "$JS.API.CONSUMER.CREATE.FOOTFALL.footfall-relay", []string{"relay"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := at(s, api).with("FOOTFALL_NATS_USER", row.user).with("FOOTFALL_NATS_PASSWORD", row.user[:1])
			delete(e, "FOOTFALL_NATS_REPLICAS")
			got := run(t, e, row.args...)
			assert.Equal(t, 1, got.status)
			verb := strings.ToLower(strings.Replace(row.verb, "Subscription", "subscribe", 1))
			want := fmt.Sprintf(`%s to %q: user %q of FOOTFALL_NATS_USER: give the user permission to %s to %s%s`, row.verb, row.subject, row.user, verb, row.subject, row.or)
			assert.Regexp(t, `(?m)^footfall: NATS at .*`+regexp.QuoteMeta(want)+`$`, got.err) // NATS may report the error, too
		})
	}
}

func TestARelayThatMayNotAcknowledgeEndsAndSaysSo(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "all", Password: "a"}, {Username: "relay", Password: "r", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"$JS.ACK.>"}},
		}}}
	}), footfalltest.NewAPI(t)
	publish(t, "nats://all:a@"+s.Addr().String(), 3)
	got := run(t, at(s, api).with("FOOTFALL_NATS_USER", "relay").with("FOOTFALL_NATS_PASSWORD", "r"), "relay")
	assert.Equal(t, 1, got.status, "%+v", got)
	assert.Regexp(t, `the relay may not acknowledge events, and NATS would deliver them again and again: .*Publish to "\$JS\.ACK\.FOOTFALL.*": user "relay" of FOOTFALL_NATS_USER: give the user permission to publish to \$JS\.ACK\.>\n$`, got.err)
	assert.Empty(t, api.Requests())
}

// The settings of the consumer and of the memory of a relay are flags, and the documents have their defaults.
func TestTheFlagsOfTheConsumerReachNATS(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/tools.md")
	require.NoError(t, err)
	api := footfalltest.NewAPI(t)
	for name, row := range map[string]struct {
		args       []string
		consumer   string
		ackWait    time.Duration
		ackPending int
		held       float64
	}{
		"the documented defaults": {nil, "footfall-relay", 30 * time.Second, 65536, 20},
		"flags":                   {[]string{"-consumer", "mine", "-ack-wait", "90s", "-max-ack-pending", "77", "-max-held", "5"}, "mine", 90 * time.Second, 77, 5},
	} {
		s := startNATSServer(t)
		publish(t, s.ClientURL(), 20)
		api.Always(footfalltest.Status(503))
		p, base := relayed(t, at(s, api), row.args...)
		require.Eventually(t, func() bool { return scraped(t, base)["footfall_relay_held_events"] == row.held }, patience, 10*time.Millisecond, name)
		c, err := connected(t, s.ClientURL()).Consumer(t.Context(), "FOOTFALL", row.consumer)
		require.NoError(t, err, name)
		assert.Equal(t, []any{row.ackWait, row.ackPending}, []any{c.CachedInfo().Config.AckWait, c.CachedInfo().Config.MaxAckPending}, name)
		findings, _ := examined(t, at(s, api), "-consumer", row.consumer)
		checked(t, findings, "lag", doctor.Good, " of them with relays", "")
		assert.Equal(t, 0, p.stop().status)
	}
	for flag, value := range map[string]string{"-consumer": "footfall-relay", "-ack-wait": "30s", "-max-held": "1024", "-max-ack-pending": "65536"} {
		assert.Regexp(t, "(?m)^\\| `"+flag+"` \\|.*\\| `?"+value, string(page))
	}
}
