package transporttest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// accepted is the contract's answer to an event.
const accepted = "HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{\"accepted\":true}"

// reply is a wire's reaction to a request.
type reply struct {
	text string
	then ending
}

// ending is what a wire does with the connection after an answer.
type ending uint8

const (
	keep  ending = iota // reads the next request
	shut                // closes it, announced or not
	hang                // leaves it open and reads nothing
	flood               // repeats the text until the client closes
)

// wire is a server that answers with raw bytes, which servers of the standard library would
// not send. By default it accepts every event.
type wire struct {
	url      string
	listener net.Listener

	mu    sync.Mutex
	next  []reply
	got   []sent
	conns map[net.Conn]bool
	made  int
	done  bool
	more  int64 // bytes sent on a connection that hangs

	silent bool
}

// sent is a request as it arrived.
type sent struct {
	id, body string
}

func newWire(t *testing.T, next ...reply) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{url: "http://" + listener.Addr().String(), listener: listener, next: next, conns: make(map[net.Conn]bool)}
	var serving sync.WaitGroup
	serving.Go(func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			if w.accept(conn) {
				serving.Go(func() { w.serve(conn) })
			}
		}
	})
	t.Cleanup(func() {
		listener.Close()
		w.end()
		serving.Wait()
	})
	return w
}

func (w *wire) accept(conn net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		conn.Close()
		return false
	}
	w.conns[conn] = true
	w.made++
	return true
}

func (w *wire) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	for conn := range w.conns {
		conn.Close()
	}
}

func (w *wire) serve(conn net.Conn) {
	defer w.forget(conn)
	if w.isMute() {
		_, _ = io.Copy(io.Discard, conn) // until the client goes
		return
	}
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r := w.received(sent{req.Header.Get("Idempotency-Key"), string(body)})
		if _, err := io.WriteString(conn, r.text); err != nil || r.then == shut {
			return
		}
		switch r.then {
		case hang:
			n, _ := io.Copy(io.Discard, in) // until the client goes
			w.ignore(n)
			return
		case flood:
			for err == nil {
				_, err = io.WriteString(conn, r.text)
			}
			return
		}
	}
}

func (w *wire) forget(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, conn)
	conn.Close()
}

func (w *wire) received(s sent) reply {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, s)
	if len(w.next) == 0 {
		return reply{text: accepted}
	}
	r := w.next[0]
	w.next = w.next[1:]
	return r
}

func (w *wire) ignore(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.more += n
}

// ignored returns how many bytes were sent on connections that hang, after they have ended.
func (w *wire) ignored() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.more
}

// script appends answers for the next requests.
func (w *wire) script(replies ...reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = append(w.next, replies...)
}

// mute makes the wire read and never answer, with any protocol.
func (w *wire) mute() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = true
}

func (w *wire) isMute() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.silent
}

// requests returns the requests so far.
func (w *wire) requests() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]sent(nil), w.got...)
}

// connections returns how many connections were made, and how many are open.
func (w *wire) connections() (made, open int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.made, len(w.conns)
}

// waitUntilClosed waits until the transport has closed all connections. It gives up before the
// transport closes idle connections, after 90 s.
func (w *wire) waitUntilClosed(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { _, open := w.connections(); return open == 0 }, patience/2, time.Millisecond)
}
