package collector

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// slowExports is a store whose exports have this many events, ten in a second.
type slowExports struct {
	store.Store
	events int
}

func (s slowExports) Export(ctx context.Context, q store.Query, each func(store.Event) error) error {
	for range s.events {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := each(store.Event{Site: q.Site, URL: pageURL, Path: "/", At: time.Now()}); err != nil {
			return err
		}
	}
	return nil
}

// pipe is a listener with a single connection, without a socket.
type pipe struct {
	net.Listener
	far    chan net.Conn
	closed chan struct{}
}

func newPipe() (near net.Conn, p *pipe) {
	near, far := net.Pipe()
	p = &pipe{far: make(chan net.Conn, 1), closed: make(chan struct{})}
	p.far <- far
	return near, p
}

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.far:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error {
	close(p.closed)
	return nil
}

// exportUntil exports a number of events, and ends Serve after some time. It returns the body, and
// the error of reading it.
func exportUntil(t *testing.T, events int, end time.Duration) (body string, failed error) {
	t.Helper()
	s := prepare(t, Config{Store: slowExports{withPassword(t, nil), events}})
	token, _, err := s.account.SignIn(t.Context(), ownerPassword)
	require.NoError(t, err)
	conn, listener := newPipe()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	time.AfterFunc(end, stop)
	_, err = io.WriteString(conn, "GET /sites/"+s.site.ID+"/export.csv HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: footfall_session="+token+"\r\n\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	all, failed := io.ReadAll(response.Body)
	stop()
	assert.NoError(t, <-served, "all requests were answered in time")
	return string(all), failed
}

func TestAnExportOutlastsTheTimeoutsOfTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		body, err := exportUntil(t, 6000, time.Hour) // ten minutes
		require.NoError(t, err)
		assert.Equal(t, 6001, strings.Count(body, "\n"))
	})
}

func TestAnExportMayEndWhileTheServiceStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		body, err := exportUntil(t, 6000, 592*time.Second) // 8 s before its end
		require.NoError(t, err)
		assert.Equal(t, 6001, strings.Count(body, "\n"))
	})
}

func TestAnExportThatTheServiceCutsSaysSoInTheFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		body, err := exportUntil(t, 6000, 300*time.Second)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.Less(t, time.Since(began), 310*time.Second, "before ShutdownTimeout ends")
		lines := strings.SplitAfter(body, "\n")
		assert.Regexp(t, `^"This export is incomplete: it ended after 3,0\d\d events because the service was stopped\. Export again\."\n$`, lines[len(lines)-2])
	})
}
