package footfalltest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
)

// patience bounds each wait.
const patience = 15 * time.Second

// ownClient returns a client with its own connections. httptest.Server.Close closes the
// connections of http.DefaultClient, which other tests use.
func ownClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// get fetches url and returns the answer with its body read.
func get(t *testing.T, client *http.Client, url string) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// writerOf is a handler that answers with the optional interfaces of its http.ResponseWriter.
func writerOf(w http.ResponseWriter, _ *http.Request) {
	_, flusher := w.(http.Flusher)
	_, hijacker := w.(http.Hijacker)
	_, readerFrom := w.(io.ReaderFrom)
	_, pusher := w.(http.Pusher)
	control := http.NewResponseController(w)
	said := func(err error) string { return fmt.Sprint(err) }
	answer := map[string]any{
		"Flusher": flusher, "Hijacker": hijacker, "ReaderFrom": readerFrom, "Pusher": pusher,
		"SetReadDeadline":  said(control.SetReadDeadline(time.Now().Add(time.Hour))),
		"SetWriteDeadline": said(control.SetWriteDeadline(time.Now().Add(time.Hour))),
		"EnableFullDuplex": said(control.EnableFullDuplex()),
		"Flush":            said(control.Flush()),
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func writerKeepsItsInterfaces(t *testing.T, s Subject) {
	route := Route{Method: "GET", Pattern: "/writer", Handler: http.HandlerFunc(writerOf)}
	rules := []footfall.Rule{s.rule("GET", "/writer", "seen", 0)}
	_, bare := get(t, ownClient(t), s.openBare(t, route).URL+"/writer")
	_, wrapped := get(t, ownClient(t), s.open(t, rules, route).URL+"/writer")
	if wrapped != bare {
		t.Errorf("on HTTP/1.1 the writer can do\n%swithout the middleware\n%s", wrapped, bare)
	}
	if s.Handler == nil {
		return // the framework's own server, without HTTP/2
	}
	over2 := func(app App) string {
		server := httptest.NewUnstartedServer(s.Handler(t, app))
		server.EnableHTTP2 = true
		server.StartTLS()
		defer server.Close()
		resp, body := get(t, server.Client(), server.URL+"/writer")
		if resp.ProtoMajor != 2 {
			t.Fatalf("the server speaks %s", resp.Proto)
		}
		return body
	}
	bare = over2(App{Routes: []Route{route}})
	wrapped = over2(App{Routes: []Route{route}, Tracker: newQuiet(t).Tracker, Rules: rules})
	if wrapped != bare {
		t.Errorf("on HTTP/2 the writer can do\n%swithout the middleware\n%s", wrapped, bare)
	}
}

func webSocketWorks(t *testing.T, s Subject) {
	if s.WebSocket.Echo == nil || s.WebSocket.Send == nil {
		t.Fatal("the subject has no WebSocket library")
	}
	site := s.open(t, []footfall.Rule{s.rule("GET", "/ws", "connected", footfall.Success)},
		Route{Method: "GET", Pattern: "/ws", Handler: s.WebSocket.Echo})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answer, err := s.WebSocket.Send(ctx, "ws"+strings.TrimPrefix(site.URL, "http")+"/ws", "hello")
	if err != nil || answer != "hello" {
		t.Errorf("the socket answered %q, %v", answer, err)
	}
	expectNames(t, site.eventually(1), "connected")
}

func eventsArriveWhenWritten(t *testing.T, s Subject) {
	read := make(chan struct{})
	site := s.open(t, []footfall.Rule{s.rule("GET", "/events", "streamed", footfall.Success)},
		Route{Method: "GET", Pattern: "/events", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: first\n\n")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			select { // the client has it before the handler ends
			case <-read:
			case <-time.After(patience):
				t.Error("the first event did not arrive while the handler ran")
			}
			_, _ = io.WriteString(w, "data: last\n\n")
		})})
	resp, err := ownClient(t).Get(site.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	close(read)
	if err != nil || line != "data: first\n" {
		t.Errorf("the client read %q, %v", line, err)
	}
	expectNames(t, site.events(), "streamed")
}

func earlyHintsAreNotTheStatus(t *testing.T, s Subject) {
	site := s.open(t, []footfall.Rule{
		s.rule("GET", "/hints", "succeeded", footfall.Success),
		s.rule("GET", "/hints", "failed", footfall.Status4xx),
	}, Route{Method: "GET", Pattern: "/hints", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNotFound)
	})})
	answer := rawly(t, site.URL, "GET /hints HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 103 ") || !strings.Contains(answer, "HTTP/1.1 404 ") {
		t.Errorf("the client received %q", answer)
	}
	expectNames(t, site.events(), "failed")
}

// rawly sends text on a new connection and returns all bytes of the answer.
func rawly(t *testing.T, url, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(conn) // a connection that breaks is an answer too
	return string(answer)
}

// A file of 100 MB arrives whole, and the writer can send it with sendfile.
func filesAreSentAsWithout(t *testing.T, s Subject) {
	const size = 100 << 20
	name := filepath.Join(t.TempDir(), "large.bin")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(size); err != nil {
		t.Fatal(err)
	}
	file.Close()
	fromKernel := make(chan bool, 1)
	route := Route{Method: "GET", Pattern: "/file", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, ok := w.(io.ReaderFrom)
		fromKernel <- ok
		http.ServeFile(w, r, name)
	})}
	download := func(site *site) (int64, bool) {
		defer site.stop()
		resp, err := ownClient(t).Get(site.URL + "/file")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		n, err := io.Copy(io.Discard, resp.Body)
		if err != nil {
			t.Error(err)
		}
		return n, <-fromKernel
	}
	_, bare := download(s.openBare(t, route))
	n, wrapped := download(s.open(t, []footfall.Rule{s.rule("GET", "/file", "downloaded", 0)}, route))
	if n != size || wrapped != bare {
		t.Errorf("%d bytes, io.ReaderFrom %t; without the middleware %t", n, wrapped, bare)
	}
}
