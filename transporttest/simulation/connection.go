package simulation

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// dial connects to the API. It is for http.Transport.DialContext and the like.
func (a *api) dial(_ context.Context, network, addr string) (net.Conn, error) {
	if a.refuses() {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	client, server := newPipe()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conns[server] = true
	go a.serve(server)
	return client, nil
}

// hangUp closes the connections that the client has left open, and returns how many.
func (a *api) hangUp() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	for conn := range a.conns {
		conn.Close()
	}
	return len(a.conns)
}

func (a *api) forget(conn *pipe) {
	conn.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.conns, conn)
}

// refuses reports whether connections are refused, and counts one.
func (a *api) refuses() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	o := a.outage(now)
	if o == nil || o.kind != Outage || o.how != refusing {
		return false
	}
	a.requests = append(a.requests, request{now, none})
	a.refusals = append(a.refusals, now)
	a.add(none, "a connection is refused")
	return true
}

// serve answers the requests on a connection.
func (a *api) serve(conn *pipe) {
	defer a.forget(conn)
	in := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return // the client has closed the connection
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		x, err := a.begin(r.Header.Get("Idempotency-Key"), string(body))
		if err != nil {
			a.fault("request", none, "%v", err)
			return
		}
		if !a.respond(conn, x) {
			if x.act == unsolicited {
				a.misread(conn, in)
			}
			return
		}
	}
}

// misread records a request that has arrived since the answer before it. The client reads the bytes that
// followed that answer as the answer to it.
func (a *api) misread(conn *pipe, in *bufio.Reader) {
	_ = conn.SetReadDeadline(time.Now())
	r, err := http.ReadRequest(in)
	if err != nil {
		return // there is none
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = a.addMisread(r.Header.Get("Idempotency-Key"), string(body), conn.in.lastWrite())
	}
	if err != nil {
		a.fault("request", none, "%v", err)
	}
}

// respond returns false if the connection cannot be reused.
func (a *api) respond(conn *pipe, x *exchange) bool {
	if !wait(x.after, conn.peer.closed) {
		a.end(x, givenUp)
		return false
	}
	text := x.text()
	switch x.act {
	case reset, refuse:
		a.end(x, broken)
		conn.reset()
		return false
	case cutHeader:
		a.end(x, broken)
		_, _ = io.WriteString(conn, text[:12])
		return false
	case cutBody:
		a.end(x, answered)
		_, _ = io.WriteString(conn, text[:len(text)-5])
		return false
	}
	a.end(x, answered)
	_, err := io.WriteString(conn, text)
	if err == nil && x.act == unsolicited {
		time.Sleep(a.script.latency)
		_, _ = io.WriteString(conn, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		return false
	}
	return err == nil
}

// text is the answer as it goes over the wire.
func (r *reply) text() string {
	retry := ""
	if r.retry > 0 {
		retry = fmt.Sprintf("Retry-After: %d\r\n", int(r.retry/time.Second))
	}
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
		r.status, http.StatusText(r.status), retry, len(r.body), r.body)
}
