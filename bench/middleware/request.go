package middleware

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
)

const route = "GET /orders/{id}"

func mux() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc(route, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(ok) })
	m.HandleFunc("GET /pricing", func(http.ResponseWriter, *http.Request) {})
	return m
}

var ok = []byte("ok")

// requester returns a function that calls handler as an http.Server would: with a new Request
// each time, and the server in its context.
func requester(handler http.Handler) func() {
	w := &nullWriter{header: http.Header{}}
	server := &http.Server{Handler: handler}
	template := (&http.Request{
		Method: http.MethodGet, Host: "shop.example.com", URL: &url.URL{Path: "/orders/42"},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RemoteAddr: "192.0.2.1:4711",
		Header: http.Header{"User-Agent": {"bench"}, "Accept": {"*/*"}}, Body: http.NoBody,
	}).WithContext(context.WithValue(context.Background(), http.ServerContextKey, server))
	return func() {
		r := *template
		handler.ServeHTTP(w, &r)
	}
}

// nullWriter has the methods of net/http's own writer for HTTP/1.1.
type nullWriter struct{ header http.Header }

func (w *nullWriter) Header() http.Header               { return w.header }
func (*nullWriter) Write(p []byte) (int, error)         { return len(p), nil }
func (*nullWriter) WriteString(s string) (int, error)   { return len(s), nil }
func (*nullWriter) WriteHeader(int)                     {}
func (*nullWriter) Flush()                              {}
func (*nullWriter) ReadFrom(r io.Reader) (int64, error) { return io.Copy(io.Discard, r) }
func (*nullWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, errors.New("middleware: there is no connection")
}
