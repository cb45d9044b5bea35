package fibertest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func (s Subject[C, R]) pageOutlivesBuffers(t *testing.T) {
	tracker := footfalltest.New(t)
	app := s.watched(tracker)
	kept := make(chan context.Context, 1)
	s.get(app, "/kept/:id", func(c C) error {
		kept <- s.Context(c)
		return nil
	})
	s.get(app, "/other/*", fine[C])
	base, stop := s.open(t, app)
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://")) // one connection, so that its buffers are used again
	require.NoError(t, err)
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for _, path := range []string{"/kept/0123456789?ref=abcdef", "/other/xxxxxxxxxxxxxxxxxxxx?ref=yyyyyyyy", "/other/zzzzzzzz"} {
		_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: shop-%d.example.com\r\n\r\n", path, len(path))
		require.NoError(t, err)
		answer, err := http.ReadResponse(answers, nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
	}
	conn.Close()
	stop()
	require.NoError(t, footfall.Track(<-kept, "afterwards"))
	assert.Equal(t, "http://shop-27.example.com/kept/0123456789?ref=abcdef", tracker.Events()[0].URL)
}

func (s Subject[C, R]) pageIsAsItCame(t *testing.T) {
	for target, want := range map[string]string{
		"/a%20b/%2Fc":        "http://shop.example.com/a%20b/%2Fc",
		"/straße":            "http://shop.example.com/stra%C3%9Fe",
		"/100%25":            "http://shop.example.com/100%25",
		"/a/../b//c?ref=x#y": "http://shop.example.com/a/../b//c?ref=x",
		"/%zz":               "http://shop.example.com/%25zz",
	} {
		tracker := footfalltest.New(t)
		app := s.watched(tracker, seen(footfall.AnyRoute))
		app.Use(func(c C) error {
			c.Path("/changed")
			s.SetHost(c, "changed.example.com")
			return c.Next()
		})
		s.get(app, "/changed", fine[C])
		base, stop := s.open(t, app)
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://")) // no client of net/http sends this
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: Shop.example.com\r\nConnection: close\r\n\r\n", target)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, conn)
		require.NoError(t, err)
		conn.Close()
		stop()
		if events := tracker.Events(); assert.Len(t, events, 1, target) {
			assert.Equal(t, want, events[0].URL)
		}
	}
}

// How many clients, and how many requests each makes.
const clients, requestsEach = 64, 20

// Without the adaptor, whose copies would hide a buffer that is used again.
func (s Subject[C, R]) clientsDoNotMix(t *testing.T) {
	tracker := footfalltest.New(t)
	app := s.watched(tracker, footfall.Rule{Route: "GET /echo/:n", Event: "answered", PathProps: []string{"n"}})
	var beside, all sync.WaitGroup
	left := make(chan struct{})
	s.get(app, "/echo/:n", func(c C) error {
		assert.NoError(t, s.Track(c, "tracked", footfall.P("n", c.Params("n"))))
		ctx, n := s.Context(c), strings.Clone(c.Params("n"))
		beside.Go(func() {
			<-left
			assert.NoError(t, footfall.Track(ctx, "beside", footfall.P("n", n)))
		})
		return c.SendString(c.Get("X-Number"))
	})
	base, stop := s.open(t, app)
	for client := range clients {
		all.Go(func() { visitEcho(t, base, client) })
	}
	all.Wait()
	stop()
	close(left)
	beside.Wait()
	counted := make(map[string]int)
	for _, e := range tracker.Events() {
		n := fmt.Sprint(e.Props["n"])
		assert.Equal(t, base+"/echo/"+n+"?ref="+n, e.URL)
		counted[e.Name+n]++
	}
	assert.Len(t, counted, 3*clients*requestsEach)
}

// visitEcho sends one client's requests on its one connection.
func visitEcho(t *testing.T, base string, client int) {
	own := &http.Client{Transport: &http.Transport{}, Timeout: patience}
	defer own.CloseIdleConnections()
	for i := range requestsEach {
		n := strconv.Itoa(client*requestsEach + i)
		r, _ := http.NewRequestWithContext(t.Context(), "GET", base+"/echo/"+n+"?ref="+n, nil)
		r.Header.Set("X-Number", n)
		answer, err := own.Do(r)
		if !assert.NoError(t, err) {
			return
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		assert.NoError(t, err)
		assert.Equal(t, n, string(body))
	}
}
