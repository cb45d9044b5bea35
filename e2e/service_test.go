package e2e

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector"
	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

const password = "a password for tests"

// service is a collector on a loopback address, in this process.
type service struct {
	url     string
	store   store.Store
	account *account.Account
	setup   string // the link of the first start
}

// startService starts a service with the data of fill. Without a password it behaves as on
// its first start.
func startService(t testing.TB, fill func(store.Store, *account.Account)) *service {
	t.Helper()
	return startServiceWith(t, fill, func(*collector.Config) {})
}

// startServiceWith is like startService with another configuration.
func startServiceWith(t testing.TB, fill func(store.Store, *account.Account), change func(*collector.Config)) *service {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	st, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(t.TempDir(), "footfall.db"), Logger: log})
	require.NoError(t, err)
	prepared, err := account.Open(t.Context(), st)
	require.NoError(t, err)
	if fill != nil {
		fill(st, prepared)
	}
	cfg := collector.Config{Store: st, Logger: log}
	change(&cfg)
	c, err := collector.New(t.Context(), cfg)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serving, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Serve(serving, listener) }()
	t.Cleanup(func() {
		end()
		require.NoError(t, <-ended)
		require.NoError(t, c.Close(context.Background()))
		require.NoError(t, st.Close())
	})
	s := &service{url: "http://" + listener.Addr().String(), store: st, account: c.Account()}
	s.setup = s.url + c.SetupURL()
	return s
}

// owned sets the password of the owner.
func owned(t testing.TB, a *account.Account) {
	t.Helper()
	require.NoError(t, a.SetUp(t.Context(), a.SetupToken(), password))
}
