package server

import (
	"bytes"
	"net"
	"strconv"
	"time"
)

// The answers to events, and to requests without a length.
var (
	accepted = []byte("HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n" + Body)
	refused  = []byte("HTTP/1.1 411 Length Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
)

// Body is the body of each answer.
const Body = `{"accepted":true}`

// maxRequest bounds a request, header and body.
const maxRequest = 64 << 10

// converse answers the requests of a connection in order.
func (a *api) converse(c net.Conn) {
	defer c.Close()
	buf := make([]byte, maxRequest)
	have := 0
	for {
		size, ok := requestSize(buf[:have])
		switch {
		case !ok || size > len(buf):
			_, _ = c.Write(refused)
			return
		case size > 0 && size <= have:
			if a.answer(c) != nil {
				return
			}
			have = copy(buf, buf[size:have])
			continue
		}
		n, err := c.Read(buf[have:])
		if err != nil {
			return
		}
		have += n
	}
}

func (a *api) answer(c net.Conn) error {
	now := a.inFlight.Add(1)
	for peak := a.peak.Load(); now > peak && !a.peak.CompareAndSwap(peak, now); peak = a.peak.Load() {
	}
	if a.delay > 0 {
		time.Sleep(a.delay)
	}
	a.inFlight.Add(-1)
	a.requests.Add(1) // before the client can ask for the count
	_, err := c.Write(accepted)
	return err
}

var (
	endOfHeader = []byte("\r\n\r\n")
	lengthName  = []byte("\r\nContent-Length: ")
)

// requestSize returns the size of the request at the start of b: zero if its header is
// incomplete, and false if it has no length.
func requestSize(b []byte) (size int, ok bool) {
	end := bytes.Index(b, endOfHeader)
	if end < 0 {
		return 0, len(b) < maxRequest
	}
	at := bytes.Index(b[:end], lengthName)
	if at < 0 {
		return 0, false
	}
	digits, _, _ := bytes.Cut(b[at+len(lengthName):end+2], endOfHeader[:2])
	body, err := strconv.ParseUint(string(digits), 10, 31)
	return end + len(endOfHeader) + int(body), err == nil
}
