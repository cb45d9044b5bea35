package connlimit

import (
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fake is a connection that notes Close.
type fake struct {
	net.Conn
	closed atomic.Bool
}

func (f *fake) Close() error {
	f.closed.Store(true)
	return nil
}

// Above three quarters of the bound a newcomer ends the connections that are idle for some seconds.
func TestIdleTimeIsShorterNearTheBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(8)
		var all []*fake
		enter := func() {
			f := &fake{}
			require.True(t, l.enter(f))
			l.work(l.conns[f])
			l.ConnState(f, http.StateIdle)
			all = append(all, f)
		}
		for range 7 {
			enter()
			time.Sleep(time.Second)
		}
		assert.False(t, all[0].closed.Load())
		enter() // the first is idle for 7 s, the second for 6 s
		assert.True(t, all[0].closed.Load())
		assert.False(t, all[1].closed.Load(), "three quarters are in use")
		l.work(l.conns[all[1]])
		time.Sleep(time.Hour)
		enter()
		assert.False(t, all[1].closed.Load(), "it serves a request")
		assert.True(t, all[2].closed.Load())
		l.ConnState(all[1], http.StateClosed)
		_, known := l.conns[all[1]]
		assert.False(t, known)
	})
}

// A client that reads slowly makes room for the next part of an answer again and again.
func TestAnAnswerThatIsReadSlowlyIsNotCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, slow := New(1), &fake{}
		require.True(t, l.enter(slow))
		c := l.conns[slow]
		l.work(c)
		go l.enter(&fake{})
		for range 10 {
			l.write(c)
			time.Sleep(reading.patience() - 1)
			l.wrote(c)
		}
		synctest.Wait()
		assert.False(t, slow.closed.Load(), "each part was read in time")
		l.write(c)
		time.Sleep(reading.patience())
		synctest.Wait()
		assert.True(t, slow.closed.Load(), "a part was not")
	})
}

// A connection that was just accepted is about to get its first request.
func TestANewConnectionIsNotClosedForTheNextOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(2)
		busy, fresh := &fake{}, &fake{}
		require.True(t, l.enter(busy))
		require.True(t, l.enter(fresh))
		l.work(l.conns[busy])
		go l.enter(&fake{})
		time.Sleep(request.patience() - 1)
		synctest.Wait()
		assert.False(t, fresh.closed.Load())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.True(t, fresh.closed.Load(), "it sends nothing")
		assert.False(t, busy.closed.Load())
	})
}

func TestShutdownEndsAWaitingAccept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, first := New(1), &fake{}
		require.True(t, l.enter(first))
		l.work(l.conns[first])
		entered := make(chan bool, 1)
		go func() { entered <- l.enter(&fake{}) }()
		synctest.Wait()
		require.NoError(t, l.Listen(noListener{}).Close())
		assert.False(t, <-entered)
	})
}

type noListener struct{ net.Listener }

func (noListener) Close() error { return nil }
