package connlimit

import (
	"context"
	"io"
	"net"
	"net/http"
)

// connKey is the key of a request's conn in its context.
type connKey struct{}

// ConnContext is for http.Server.
func (l *Limit) ConnContext(ctx context.Context, accepted net.Conn) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, known := l.conns[accepted]; known {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx // dropped
}

// Handler returns a handler that calls h. Until the body of a request has arrived, its
// connection counts as waiting.
func (l *Limit) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(*conn)
		if ok && r.Body != http.NoBody && r.ProtoMajor == 1 { // HTTP/2 has many requests on a connection
			l.await(c)
			r = r.WithContext(r.Context()) // a copy: the server looks at its own r.Body after an answer
			r.Body = &body{r.Body, c, l}
		}
		h.ServeHTTP(w, r)
	})
}

// body notes when a body ends.
type body struct {
	io.ReadCloser
	conn  *conn
	limit *Limit
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.limit.arrived(b.conn)
	}
	return n, err
}
