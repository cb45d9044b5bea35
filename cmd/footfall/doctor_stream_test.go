package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/doctor"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

func TestDoctorSaysHowFullTheStreamIs(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	e := at(s, api)
	publish(t, s.ClientURL(), 50)
	findings, status := examined(t, e)
	assert.Equal(t, 0, status)
	checked(t, findings, "fill", doctor.Good, "of 1.0 GiB", "")
	checked(t, findings, "lag", doctor.Warn, "50 events, the oldest ", "start a relay")

	js := connected(t, s.ClientURL())
	st, err := js.Stream(t.Context(), "FOOTFALL")
	require.NoError(t, err)
	used := int64(st.CachedInfo().State.Bytes)
	for _, row := range []struct {
		bytes  int64
		level  doctor.Level
		found  string
		status int
	}{
		{used * 2, doctor.Good, " of ", 0},
		{used * 10 / 9, doctor.Warn, " of ", 0},
		{used + 10, doctor.Bad, "full, NATS refuses events: ", 1},
		{used / 2, doctor.Bad, "full, NATS refuses events: ", 1},
	} {
		_, err := stream.Apply(t.Context(), stream.Config{URL: s.ClientURL(), MaxBytes: row.bytes})
		require.NoError(t, err)
		findings, status = examined(t, e)
		assert.Equal(t, row.status, status, "%+v", row)
		remedy := "footfall stream apply -max-bytes"
		if row.level == doctor.Good {
			remedy = ""
		}
		checked(t, findings, "fill", row.level, row.found, remedy)
	}
	assert.Equal(t, 50, messages(t, s.ClientURL(), "FOOTFALL"), "doctor publishes nothing")
}

func TestDoctorSaysWhetherRelaysTakeEvents(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	e := at(s, api)
	p, _ := relayed(t, e)
	findings, status := examined(t, e)
	assert.Equal(t, 0, status)
	checked(t, findings, "lag", doctor.Good, "no events, 0 of them with relays", "")
	checked(t, findings, "permission", doctor.Good, "the user may take, acknowledge and move events", "")
	assert.Equal(t, 0, p.stop().status)

	js := connected(t, s.ClientURL())
	publish(t, s.ClientURL(), 5)
	findings, _ = examined(t, e)
	checked(t, findings, "lag", doctor.Good, "5 events, the oldest ", "")
	assert.Contains(t, findings["lag"].Found, ", 0 of them with relays")
	c, err := js.Consumer(t.Context(), "FOOTFALL", "footfall-relay")
	require.NoError(t, err)
	assert.Zero(t, c.CachedInfo().Delivered.Consumer, "doctor takes nothing")
	require.NoError(t, js.DeleteConsumer(t.Context(), "FOOTFALL", "footfall-relay"))
	_, err = js.CreateConsumer(t.Context(), "FOOTFALL", jetstream.ConsumerConfig{Durable: "other", AckPolicy: jetstream.AckExplicitPolicy})
	require.NoError(t, err)
	findings, status = examined(t, e)
	assert.Equal(t, 1, status)
	checked(t, findings, "consumer", doctor.Bad, `the stream has a consumer "other", and a work queue takes no second one`, "nats consumer rm FOOTFALL")
	got := run(t, e, "relay")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "err_code=10099")
	assert.Contains(t, got.err, "another consumer takes the events: remove it with nats consumer rm")
}

// documentedUsers makes the users of docs/stream.md, without permission for the subjects denied.
func documentedUsers(t *testing.T, denied ...string) func(*server.Options) {
	t.Helper()
	page, err := os.ReadFile("../../docs/stream.md")
	require.NoError(t, err)
	block := regexp.MustCompile(`(?s)\n    authorization \{.*?\n    \}\n`).FindString(string(page))
	conf := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(conf, []byte("PROGRAM_PASSWORD: p, RELAY_PASSWORD: r, OPERATOR_PASSWORD: o\n"+block), 0o600))
	options, err := server.ProcessConfigFile(conf)
	require.NoError(t, err)
	for _, u := range options.Users {
		if u.Username == "operator" {
			continue
		}
		u.Permissions.Publish.Allow = slices.DeleteFunc(u.Permissions.Publish.Allow, func(subject string) bool { return slices.Contains(denied, subject) })
	}
	return func(o *server.Options) { o.Users = options.Users }
}

// as sets a user of NATS, and for a program no key of the API.
func (e env) as(user, password string) env {
	if user == "program" {
		delete(e, "FOOTFALL_API_KEY")
		delete(e, "FOOTFALL_BASE_URL")
	}
	return e.with("FOOTFALL_NATS_USER", user).with("FOOTFALL_NATS_PASSWORD", password)
}

func TestDoctorFindsNothingWrongWithTheDocumentedPermissions(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t, documentedUsers(t)), footfalltest.NewAPI(t)
	p, _ := relayed(t, at(s, api).as("relay", "r"))
	for user, want := range map[string]string{"program": "the user may publish to footfall.events", "relay": "the user may take, acknowledge and move events"} {
		began := time.Now()
		findings, status := examined(t, at(s, api).as(user, user[:1]))
		assert.Equal(t, 0, status, "%+v", findings)
		checked(t, findings, "permission", doctor.Good, want, "")
		checked(t, findings, "stream", doctor.Good, "has the settings", "")
		checked(t, findings, "fill", doctor.Good, "0 B of 1.0 GiB", "")
		checked(t, findings, "lag", doctor.Good, "no events", "")
		assert.Less(t, time.Since(began), 5*time.Second, "a denied request is not waited for")
	}
	assert.Equal(t, 0, p.stop().status)
}

func TestDoctorNamesEachPermissionThatIsMissing(t *testing.T) {
	t.Parallel()
	for subject, row := range map[string]struct{ user, lost string }{
		"footfall.events": {"program", "programs cannot publish events"},
		"$JS.API.CONSUMER.CREATE.FOOTFALL.footfall-relay":   {"relay", "relays cannot take events"},
		"$JS.API.CONSUMER.MSG.NEXT.FOOTFALL.footfall-relay": {"relay", "relays cannot take events"},
		"$JS.ACK.>":                {"relay", "relays cannot acknowledge events and stop"},
		"footfall.events.rejected": {"relay", "relays cannot move events that the API rejects"},
	} {
		s, api := startNATSServer(t, documentedUsers(t, subject)), footfalltest.NewAPI(t)
		publishAs(t, s, "operator", "o", 3)
		findings, status := examined(t, at(s, api).as(row.user, row.user[:1]))
		assert.Equal(t, 1, status, subject)
		checked(t, findings, "permission", doctor.Bad, row.lost+": permissions violation", "give the user permission to publish to "+subject)
		assert.Equal(t, 3, messages(t, "nats://operator:o@"+s.Addr().String(), "FOOTFALL"), "doctor stores and takes nothing")
	}
}

// publishAs publishes n events as a user who may create the stream.
func publishAs(t *testing.T, s *server.Server, user, password string, n int) {
	t.Helper()
	publish(t, "nats://"+user+":"+password+"@"+s.Addr().String(), n)
}

// A stream without a leader does not answer, and the user of a relay may not ask for the account either.
func TestDoctorFailsIfTheStreamDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := startNATSServer(t, documentedUsers(t), func(o *server.Options) {
		o.JetStream = false
		o.Users = append(o.Users, &server.User{Username: "silent", Password: "s"})
	})
	silent, err := nats.Connect("nats://silent:s@" + s.Addr().String())
	require.NoError(t, err)
	t.Cleanup(silent.Close)
	_, err = silent.Subscribe("$JS.API.>", func(*nats.Msg) {})
	require.NoError(t, err)
	require.NoError(t, silent.Flush())
	findings, status := examined(t, at(s, footfalltest.NewAPI(t)).as("relay", "r"))
	assert.Equal(t, 1, status)
	checked(t, findings, "JetStream", doctor.Skipped, "no permission", "")
	checked(t, findings, "stream", doctor.Bad, `NATS stream "FOOTFALL": context deadline exceeded`, "NATS is connected and does not answer")
}

// The user of a program in docs/stream.md may not create the stream, the one of a relay may.
func TestDoctorSaysWhoCreatesTheStream(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t, documentedUsers(t)), footfalltest.NewAPI(t)
	findings, status := examined(t, at(s, api).as("program", "p"))
	assert.Equal(t, 1, status)
	checked(t, findings, "stream", doctor.Bad, `there is no NATS stream "FOOTFALL", and the user may not create it`, "start a relay, whose user creates it")
	findings, status = examined(t, at(s, api).as("relay", "r"))
	assert.Equal(t, 0, status)
	checked(t, findings, "stream", doctor.Skipped, `there is no NATS stream "FOOTFALL" yet`, "a relay or a program that uses stream.Open creates it")
	_, err := connected(t, "nats://operator:o@"+s.Addr().String()).Stream(t.Context(), "FOOTFALL")
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound, "doctor creates nothing")
}
