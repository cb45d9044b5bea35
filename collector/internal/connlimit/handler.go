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

// Handler returns a handler that calls h. Meanwhile the connection of the request does not wait,
// except until the body of the request has arrived, and while a part of the answer is written.
func (l *Limit) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(*conn)
		switch {
		case !ok:
		case r.ProtoMajor != 1: // HTTP/2 has many requests on a connection
			l.work(c)
		case r.Body == http.NoBody:
			l.work(c)
			defer l.write(c) // the server writes what is left of the answer
			w = &writer{w, c, l}
		default:
			l.await(c)
			defer l.write(c)
			w = &writer{w, c, l}
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
		b.limit.work(b.conn)
	}
	return n, err
}

// writer notes when parts of an answer are written, because a client that reads nothing blocks that.
type writer struct {
	http.ResponseWriter
	conn  *conn
	limit *Limit
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	w.limit.write(w.conn)
	defer w.limit.wrote(w.conn)
	return w.ResponseWriter.Write(p)
}

// FlushError implements the interface that http.ResponseController looks for.
func (w *writer) FlushError() error {
	w.limit.write(w.conn)
	defer w.limit.wrote(w.conn)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap implements the interface that http.ResponseController looks for.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
