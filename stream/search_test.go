package stream_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

// The relay holds fewer events than fail. It finds the others also if its user may not read events.
func TestEventsThatAlwaysFailDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	for name, denied := range map[string]string{"may read events": "none", "may not": "$JS.API.STREAM.MSG.GET.FOOTFALL"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, api := startServer(t, func(o *server.Options) { o.Users = users(denied) }), footfalltest.NewAPI(t)
			cfg := single(s.ClientURL())
			cfg.Timeout = time.Second
			cfg.Options = []nats.Option{nats.UserInfo("all", "a")}
			tr := open(t, quick(&footfalltest.Log{}), cfg)
			for range 40 {
				require.NoError(t, tr.Track(t.Context(), "poison"))
			}
			require.NoError(t, flushWithin(tr, patience))
			publish(t, tr, 500)
			var healed atomic.Bool
			api.Always(func(a *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
				if e.Name == "poison" && !healed.Load() {
					footfalltest.Status(500)(a, w, r, e)
					return
				}
				footfalltest.Accept()(a, w, r, e)
			})
			cfg.Options = []nats.Option{nats.UserInfo("relay", "r")}
			relay(t, api, cfg, stream.RelayConfig{MaxHeld: 32, AckWait: 3 * time.Second})
			require.Eventually(t, func() bool { return len(api.Events()) >= 500 }, patience, 5*time.Millisecond)
			healed.Store(true)
			arrive(t, api, 540)
		})
	}
}

// While the API accepts nothing and the stream has no other events, there is nothing to look for.
func TestAnOutageReturnsNoEventToTheStream(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	api.Always(footfalltest.Status(http.StatusServiceUnavailable))
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 200)
	r := relay(t, api, cfg, stream.RelayConfig{MaxHeld: 32, AckWait: time.Second})
	require.Eventually(t, func() bool { _, out := r.Outage(); return out && r.Stats().Held == 32 }, patience, 5*time.Millisecond)
	time.Sleep(4 * time.Second) // AckWait has been over several times
	assert.Zero(t, r.Stats().Redelivered)
	assert.Zero(t, r.Stats().HandedBack)
	api.Always(footfalltest.Accept())
	arrive(t, api, 200)
}
