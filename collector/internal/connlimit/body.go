package connlimit

import (
	"context"
	"io"
	"net"
	"net/http"
)

// connKey is the key of a request's net.Conn in its context.
type connKey struct{}

// ConnContext is for http.Server.
func (l *Limit) ConnContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// Handler returns a handler that calls h. While the body of a request has not arrived, its
// connection counts as quiet.
func (l *Limit) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, ok := r.Context().Value(connKey{}).(net.Conn)
		if ok && r.Body != http.NoBody && r.ProtoMajor == 1 { // HTTP/2 has many requests on a connection
			l.await(conn)
			r = r.WithContext(r.Context()) // a copy: the server looks at its own r.Body after an answer
			r.Body = &body{r.Body, conn, l}
		}
		h.ServeHTTP(w, r)
	})
}

// body notes when a body ends.
type body struct {
	io.ReadCloser
	conn  net.Conn
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
