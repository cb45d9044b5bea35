package fibertest

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

func (s Subject[C, R]) timeoutIsRecordedAsSeen(t *testing.T) {
	tracker := footfalltest.New(t)
	app := s.watched(tracker, adaptertest.Classes(footfall.AnyRoute)...)
	ended := make(chan struct{})
	defer close(ended)
	s.get(app, "/slow", s.Timeout(ended))
	s.get(app, "/late", func(c C) error {
		s.TooLate(c, http.StatusServiceUnavailable)
		return nil
	})
	base, stop := s.open(t, app)
	for path, want := range map[string]int{"/slow": http.StatusRequestTimeout, "/late": http.StatusServiceUnavailable} {
		cookie := []string{"Cookie", "session=1"} // fasthttp joins cookies when they are read
		status, _ := adaptertest.Ask(t, base, adaptertest.Request{Method: "GET", Path: path, Header: cookie})
		assert.Equal(t, want, status)
	}
	stop()
	assert.ElementsMatch(t, []string{"client error", "server error"}, tracker.Names())
}

func (s Subject[C, R]) webSocketWorks(t *testing.T) {
	tracker := footfalltest.New(t)
	app := s.watched(tracker, footfall.Rule{Route: "GET /ws", Event: "connected", Status: footfall.Success})
	s.get(app, "/ws", func(c C) error {
		ctx := s.Context(c)
		return s.Upgrade(c, func(conn Conn) {
			kind, text, err := conn.ReadMessage()
			assert.NoError(t, err)
			assert.NoError(t, footfall.Track(ctx, "message_received"))
			assert.NoError(t, conn.WriteMessage(kind, text))
		})
	})
	base, _ := s.open(t, app)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answer, err := adaptertest.Send(ctx, "ws"+strings.TrimPrefix(base, "http")+"/ws", "hello")
	require.NoError(t, err)
	assert.Equal(t, "hello", answer)
	require.Equal(t, []string{"connected", "message_received"}, tracker.Names())
	assert.Equal(t, base+"/ws", tracker.Events()[1].URL)
}

func (s Subject[C, R]) streamArrivesAsWritten(t *testing.T) {
	tracker := footfalltest.New(t)
	app := s.watched(tracker, seen("GET /events"))
	read := make(chan struct{})
	s.get(app, "/events", func(c C) error {
		ctx := s.Context(c)
		s.Stream(c, func(w *bufio.Writer) {
			_, _ = io.WriteString(w, "data: first\n\n")
			assert.NoError(t, w.Flush())
			select {
			case <-read:
			case <-time.After(patience):
				t.Error("the first event did not arrive while the stream was open")
			}
			assert.NoError(t, footfall.Track(ctx, "streamed"))
		})
		return nil
	})
	base, stop := s.open(t, app)
	answer, err := http.Get(base + "/events")
	require.NoError(t, err)
	defer answer.Body.Close()
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	close(read)
	require.NoError(t, err)
	assert.Equal(t, "data: first\n", line)
	stop()
	assert.Equal(t, []string{"seen", "streamed"}, tracker.Names())
}

func (s Subject[C, R]) fileIsSentWhole(t *testing.T) {
	const size = 100 << 20
	name := filepath.Join(t.TempDir(), "large.bin")
	file, err := os.Create(name)
	require.NoError(t, err)
	require.NoError(t, file.Truncate(size))
	require.NoError(t, file.Close())
	tracker := footfalltest.New(t)
	app := s.watched(tracker, seen("GET /file"))
	s.get(app, "/file", func(c C) error { return s.SendFile(c, name) })
	base, stop := s.open(t, app)
	answer, err := http.Get(base + "/file")
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	answer.Body.Close()
	stop()
	assert.Equal(t, int64(size), n)
	assert.Equal(t, []string{"seen"}, tracker.Names())
}
