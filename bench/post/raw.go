package post

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/bench/post/server"
)

// startRaw writes ready-made requests and searches for the end of the answers: the cost of the
// system calls alone.
func startRaw(o *order) (load, error) {
	host := strings.TrimPrefix(o.URL, "http://")
	var w workers
	for range o.InFlight {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			return nil, err
		}
		if err := conn.SetDeadline(time.Now().Add(o.Warm + o.Window + 10*time.Second)); err != nil {
			return nil, err
		}
		request, answer := readyMade(host), make([]byte, 4<<10)
		w.add(func() error { return converse(conn, request, answer) })
	}
	return &w, nil
}

func readyMade(host string) []byte {
	return []byte("POST /v1/events HTTP/1.1\r\nHost: " + host +
		"\r\nUser-Agent: " + userAgent +
		"\r\nAuthorization: Bearer " + apiKey +
		"\r\nAccept: " + jsonType +
		"\r\nContent-Type: " + jsonType +
		"\r\nIdempotency-Key: " + idempotencyKey +
		"\r\nContent-Length: " + strconv.Itoa(len(body)) +
		"\r\n\r\n" + body)
}

var (
	statusLine = []byte("HTTP/1.1 202 ")
	answerEnd  = []byte("\r\n\r\n" + server.Body)
)

// converse reads a complete answer.
func converse(conn net.Conn, request, buf []byte) error {
	if _, err := conn.Write(request); err != nil {
		return err
	}
	for have := 0; ; {
		n, err := conn.Read(buf[have:])
		have += n
		switch {
		case bytes.HasSuffix(buf[:have], answerEnd) && bytes.HasPrefix(buf, statusLine):
			return nil
		case err != nil:
			return fmt.Errorf("post: after %.60q: %w", buf[:have], err)
		case have == len(buf) || !bytes.HasPrefix(buf, statusLine[:min(have, len(statusLine))]):
			return fmt.Errorf("post: not the answer of the API: %.60q", buf[:have])
		}
	}
}
