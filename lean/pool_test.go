package lean

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// pipes returns a pool of connections without sockets, and their other ends.
func pipes() (p *pool, made func() []net.Conn) {
	var ends []net.Conn
	p = newPool(func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		ends = append(ends, far)
		return near, nil
	})
	return p, func() []net.Conn { return ends }
}

// use takes n connections at once and returns them for reuse.
func use(t *testing.T, p *pool, n int) {
	t.Helper()
	var taken []*conn
	for range n {
		c, err := p.get(t.Context(), footfall.Record{}, time.Now(), time.Second)
		require.NoError(t, err)
		taken = append(taken, c)
	}
	for _, c := range taken {
		c.keep = true
		p.put(c)
	}
}

// kept returns the number of idle connections and of all connections.
func kept(p *pool) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []int{len(p.idle), len(p.open)}
}

func isOpen(far net.Conn) bool {
	_ = far.SetReadDeadline(time.Now().Add(time.Second))
	_, err := far.Read(make([]byte, 1))
	netErr, ok := err.(net.Error)
	return ok && netErr.Timeout()
}

func TestConnectionsAreKeptForAMinuteAndAHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, made := pipes()
		use(t, p, 2)
		time.Sleep(60 * time.Second)
		use(t, p, 1) // the other one stays idle
		require.Len(t, made(), 2)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		assert.Equal(t, []int{1, 1}, kept(p))
		time.Sleep(60 * time.Second)
		synctest.Wait()
		assert.Equal(t, []int{0, 0}, kept(p))
		for _, far := range made() {
			assert.False(t, isOpen(far))
		}
		p.close()
	})
}

func TestConnectionsEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, made := pipes()
		ctx, cancel := context.WithCancel(t.Context())
		busy, err := p.get(ctx, footfall.Record{}, time.Now(), time.Minute)
		require.NoError(t, err)
		idle, err := p.get(ctx, footfall.Record{}, time.Now(), time.Minute)
		require.NoError(t, err)
		idle.keep = true
		p.put(idle)
		cancel()
		synctest.Wait()
		for _, far := range made() {
			assert.False(t, isOpen(far))
		}
		busy.keep = true
		p.put(busy)
		assert.Equal(t, []int{0, 0}, kept(p), "what comes back is not kept")
		_, err = p.get(ctx, footfall.Record{}, time.Now(), time.Minute)
		assert.ErrorIs(t, err, net.ErrClosed, "and none is made")
		p.close()
	})
}

// A connection can be reused after the timeout of an earlier attempt has passed.
func TestIdleConnectionOutlivesTheTimeoutOfItsLastAttempt(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	p := newPool(func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	})
	t.Cleanup(p.close)
	long := time.Now().Add(-time.Minute)
	first, err := p.get(t.Context(), footfall.Record{}, time.Now(), time.Second)
	require.NoError(t, err)
	first.begin(long, time.Second)
	first.keep = true
	p.put(first)
	second, err := p.get(t.Context(), footfall.Record{}, time.Now(), time.Second)
	require.NoError(t, err)
	assert.Same(t, first, second)
}

func TestCloseEndsIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, made := pipes()
		use(t, p, 3)
		p.close()
		for _, far := range made() {
			assert.False(t, isOpen(far))
		}
	})
}

func TestAttemptHasAlmostAllItsTimeOnAConnectionThatWasJustUsed(t *testing.T) {
	const timeout = 6400 * time.Millisecond
	const ms = time.Millisecond
	for name, tc := range map[string]struct{ pause, ago, want time.Duration }{
		"at once":                           {0, 0, timeout},
		"within a 64th":                     {100 * ms, 0, timeout - 100*ms},
		"later":                             {101 * ms, 0, timeout},
		"much later":                        {time.Hour, 0, timeout},
		"one that began on another before":  {time.Second, 2 * time.Second, timeout - 2*time.Second},
		"one that began on another at once": {0, ms, timeout - ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				defer server.Close()
				defer client.Close()
				c := newConn(client)
				c.begin(time.Now(), timeout)
				time.Sleep(tc.pause)
				began := time.Now()
				c.begin(began.Add(-tc.ago), timeout)
				assert.ErrorContains(t, c.read(&footfall.Answer{}), "timeout")
				assert.Equal(t, tc.want, time.Since(began))
			})
		})
	}
}
