package fibertest

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
)

// rounds is how often the tests stop an app about when it begins to serve.
const rounds = 50

func (s Subject[C, R]) serverAnswersAndStopsOnce(st *adaptertest.Stage) {
	t, tracker, app := st.T, st.Tracker, s.fiber(st.App)
	st.Watch(adaptertest.Seen("GET /pricing"))
	s.get(app, "/pricing", fine[C])
	listens, shutdowns := make(chan struct{}), 0
	s.OnListen(app, func() { close(listens) })
	s.OnShutdown(app, func() { shutdowns++ })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	address, ended := freeAddress(t), make(chan error, 1)
	go func() { ended <- s.Serve(ctx, tracker.Tracker, app, address) }()
	select {
	case <-listens:
	case err := <-ended:
		require.NoError(t, err)
	}
	status, _ := adaptertest.Ask(t, "http://"+address, adaptertest.Request{Method: "GET", Path: "/pricing"})
	assert.Equal(t, 200, status)
	assert.Equal(t, []string{"seen"}, tracker.Names())
	stop()
	require.NoError(t, <-ended)
	assert.Equal(t, 1, shutdowns)
}

// freeAddress returns an address on which nothing listens. Fiber v2.40.0 does not say on
// which port it listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func (s Subject[C, R]) serverStopsBeforeFiberServes(st *adaptertest.Stage) {
	for name, begin := range map[string]func(R, context.CancelFunc){
		"before it listens": func(_ R, stop context.CancelFunc) { stop() },
		"before it serves":  func(app R, stop context.CancelFunc) { s.OnListen(app, stop) },
	} {
		st.Run(name, func(t *testing.T) {
			t.Parallel()
			var tracker *footfall.Tracker
			for range rounds {
				ctx, stop := context.WithCancel(t.Context())
				app := s.New(Config[C]{})
				begin(app, stop)
				require.NoError(t, s.Serve(ctx, tracker, app, "127.0.0.1:0"))
				stop()
			}
		})
	}
}

func (s Subject[C, R]) serverSaysThatThePortIsInUse(st *adaptertest.Stage) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(st, err)
	defer taken.Close()
	var tracker *footfall.Tracker
	err = s.Serve(st.Context(), tracker, s.New(Config[C]{}), taken.Addr().String())
	assert.ErrorContains(st, err, taken.Addr().String())
}
