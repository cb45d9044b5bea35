package connlimit

import (
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fake is a connection that notes Close.
type fake struct {
	net.Conn
	closed bool
}

func (f *fake) Close() error {
	f.closed = true
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
			l.ConnState(f, http.StateActive)
			l.ConnState(f, http.StateIdle)
			all = append(all, f)
		}
		for range 7 {
			enter()
			time.Sleep(time.Second)
		}
		assert.False(t, all[0].closed)
		enter() // the first is idle for 7 s, the second for 6 s
		assert.True(t, all[0].closed)
		assert.False(t, all[1].closed, "three quarters are in use")
		l.ConnState(all[1], http.StateActive)
		time.Sleep(time.Hour)
		enter()
		assert.False(t, all[1].closed, "it serves a request")
		assert.True(t, all[2].closed)
		l.ConnState(all[1], http.StateClosed)
		_, known := l.conns[all[1]]
		assert.False(t, known)
	})
}
