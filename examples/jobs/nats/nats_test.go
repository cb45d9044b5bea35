//go:build ci

package nats_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/jobs"
	"github.com/footfall-dev/footfall/examples/jobs/internal/jobtest"
	natsjobs "github.com/footfall-dev/footfall/examples/jobs/nats"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestMain(m *testing.M) {
	jobtest.Main(m, func(ctx context.Context, address string, w *jobs.Worker) error {
		conn, err := nats.Connect(address)
		if err != nil {
			return err
		}
		defer conn.Close()
		js, err := jetstream.New(conn)
		if err != nil {
			return err
		}
		consumer, err := js.Consumer(ctx, "ORDERS", "payer")
		if err != nil {
			return err
		}
		return natsjobs.Run(ctx, consumer, w)
	})
}

func TestWithNATS(t *testing.T) {
	jobtest.Test(t, func(t *testing.T) jobtest.System {
		js, address := startServer(t)
		return jobtest.System{
			Address: address,
			Add:     func(t *testing.T, o jobs.Order) { publish(t, js, o) },
			Left:    func(t *testing.T) int { return left(t, js) },
		}
	})
}

func publish(t *testing.T, js jetstream.JetStream, o jobs.Order, options ...jetstream.PublishOpt) {
	t.Helper()
	data, err := json.Marshal(o)
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), "orders.placed", data, options...)
	require.NoError(t, err)
}

// left returns how many messages are not acknowledged.
func left(t *testing.T, js jetstream.JetStream) int {
	t.Helper()
	consumer, err := js.Consumer(t.Context(), "ORDERS", "payer")
	require.NoError(t, err)
	info := consumer.CachedInfo() // of the call above
	return info.NumAckPending + int(info.NumPending)
}

// shop does nothing.
type shop struct{}

func (shop) Charge(context.Context, jobs.Order) error { return nil }

func (shop) SendReceipt(context.Context, jobs.Order) error { return nil }

// The publisher sends each message again, after the stream has forgotten its id, and the worker gets both.
func TestMessagesThatArePublishedTwiceAreOneEvent(t *testing.T) {
	t.Parallel()
	js, _ := startServer(t)
	for _, number := range []string{"7", "8", "7", "8"} {
		publish(t, js, jobs.Order{Number: number, Cents: 4999}, jetstream.WithMsgID("order-"+number))
		time.Sleep(2 * forgets)
	}
	require.Equal(t, 4, left(t, js))
	api := footfalltest.NewAPI(t)
	tracker, err := footfall.New(api.Config())
	require.NoError(t, err)
	consumer, err := js.Consumer(t.Context(), "ORDERS", "payer")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- natsjobs.Run(ctx, consumer, &jobs.Worker{Tracker: tracker, Shop: shop{}}) }()
	require.Eventually(t, func() bool { return left(t, js) == 0 }, time.Minute, 10*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	assert.Len(t, api.Events(), 2)
	assert.Len(t, api.Requests(), 4)
}

// forgets is how long the stream remembers ids.
const forgets = 100 * time.Millisecond

func startServer(t *testing.T) (jetstream.JetStream, string) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(time.Minute))
	conn, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}, Duplicates: forgets})
	require.NoError(t, err)
	_, err = stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "payer", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 5 * time.Second})
	require.NoError(t, err)
	return js, s.ClientURL()
}
