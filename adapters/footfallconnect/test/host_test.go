package footfallconnect_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/adaptertest/rpctest"
	"github.com/footfall-dev/footfall/adapters/footfallconnect"
)

type message = wrapperspb.StringValue

// subject is the adapter with clients of one protocol.
func subject(options ...connect.ClientOption) rpctest.Subject {
	return rpctest.Subject{
		Serve: serve, Dial: dialer(options...), Track: footfallconnect.Track,
		CheckRules: func(tracker *footfall.Tracker, procedures []rpctest.Procedure, rules ...footfall.Rule) error {
			var names []string
			for _, p := range procedures {
				names = append(names, p.Name)
			}
			return footfallconnect.CheckRules(tracker, names, rules...)
		},
	}
}

// serve is an application that uses the adapter as its users do.
func serve(app rpctest.App, l net.Listener, secure *tls.Config) (stop func() error) {
	var interceptors []connect.Interceptor
	for _, link := range app.Links {
		if link.Around != nil {
			interceptors = append(interceptors, interceptor{link})
			continue
		}
		interceptors = append(interceptors, footfallconnect.Middleware(link.Tracker, link.Rules...))
	}
	mux := http.NewServeMux()
	for _, p := range app.Procedures {
		mux.Handle(p.Name, handler(p, connect.WithInterceptors(interceptors...)))
	}
	return start(&http.Server{Handler: mux, TLSConfig: secure}, l)
}

// start serves. An HTTP/2 server does not wait for the handlers of calls that the
// client left, but stop does.
func start(server *http.Server, l net.Listener) (stop func() error) {
	var running sync.WaitGroup
	handler := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Done()
		handler.ServeHTTP(w, r)
	})
	server.ConnContext = footfallconnect.ConnContext
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	run := server.Serve
	if server.TLSConfig != nil {
		run = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	go func() { _ = run(l) }() // ends with stop
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		err := server.Shutdown(ctx)
		running.Wait()
		return err
	}
}

func handler(p rpctest.Procedure, options ...connect.HandlerOption) http.Handler {
	switch p.Kind {
	case rpctest.ClientStream:
		return connect.NewClientStreamHandler(p.Name, func(ctx context.Context, s *connect.ClientStream[message]) (*connect.Response[message], error) {
			c := &call{ctx: ctx, header: s.RequestHeader(), receive: func() (string, error) {
				if !s.Receive() {
					return "", ended(s.Err())
				}
				return s.Msg().GetValue(), nil
			}}
			return c.answer(p)
		}, options...)
	case rpctest.ServerStream:
		return connect.NewServerStreamHandler(p.Name, func(ctx context.Context, req *connect.Request[message], s *connect.ServerStream[message]) error {
			c := &call{ctx: ctx, header: req.Header(), response: s.ResponseHeader(), trailer: s.ResponseTrailer(), receive: once(req.Msg.GetValue()), send: func(m string) error { return s.Send(wrapperspb.String(m)) }}
			return coded(p.Handler(ctx, c))
		}, options...)
	case rpctest.BidiStream:
		return connect.NewBidiStreamHandler(p.Name, func(ctx context.Context, s *connect.BidiStream[message, message]) error {
			c := &call{ctx: ctx, header: s.RequestHeader(), response: s.ResponseHeader(), trailer: s.ResponseTrailer(), send: func(m string) error { return s.Send(wrapperspb.String(m)) }, receive: func() (string, error) {
				m, err := s.Receive()
				if errors.Is(err, io.EOF) {
					return "", io.EOF
				}
				return m.GetValue(), err
			}}
			return coded(p.Handler(ctx, c))
		}, options...)
	}
	return connect.NewUnaryHandler(p.Name, func(ctx context.Context, req *connect.Request[message]) (*connect.Response[message], error) {
		return (&call{ctx: ctx, header: req.Header(), receive: once(req.Msg.GetValue())}).answer(p)
	}, options...)
}

// once receives one message.
func once(message string) func() (string, error) {
	received := false
	return func() (string, error) {
		if received {
			return "", io.EOF
		}
		received = true
		return message, nil
	}
}

func ended(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}

// call implements rpctest.Stream.
type call struct {
	ctx                       context.Context
	header, response, trailer http.Header
	receive                   func() (string, error)
	send                      func(string) error
}

func (c *call) Header(key string) string     { return c.header.Get(key) }
func (c *call) SetHeader(key, value string)  { c.response.Set(key, value) }
func (c *call) SetTrailer(key, value string) { c.trailer.Set(key, value) }
func (c *call) Receive() (string, error)     { return c.receive() }
func (c *call) Send(message string) error    { return c.send(message) }

// answer runs a handler that sends one message.
func (c *call) answer(p rpctest.Procedure) (*connect.Response[message], error) {
	response := connect.NewResponse(new(message))
	c.response, c.trailer = response.Header(), response.Trailer()
	c.send = func(text string) error {
		response.Msg.Value = text
		return nil
	}
	if err := coded(p.Handler(c.ctx, c)); err != nil {
		return nil, err
	}
	return response, nil
}

// coded turns an error of the suite into the framework's.
func coded(err error) error {
	if e, ok := err.(*rpctest.Error); ok {
		return connect.NewError(connect.Code(e.Code), e)
	}
	if e, ok := errors.AsType[*rpctest.Error](err); ok {
		return fmt.Errorf("%v: %w", err, connect.NewError(connect.Code(e.Code), e))
	}
	return err
}

// interceptor is one of the host.
type interceptor struct{ rpctest.Link }

func (i interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (resp connect.AnyResponse, err error) {
		err = i.Around(ctx, req.Header().Get, func(ctx context.Context) (err error) {
			resp, err = next(ctx, req)
			return err
		})
		return resp, coded(err)
	}
}

func (i interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return coded(i.Around(ctx, conn.RequestHeader().Get, func(ctx context.Context) error { return next(ctx, conn) }))
	}
}

func (interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

type client struct {
	http    *http.Client
	base    string
	options []connect.ClientOption

	mu    sync.Mutex
	conns []net.Conn
}

// dialer returns a Subject.Dial for clients of one protocol.
func dialer(options ...connect.ClientOption) func(testing.TB, adaptertest.Address, string) rpctest.Client {
	return func(_ testing.TB, to adaptertest.Address, authority string) rpctest.Client {
		transport := &http.Transport{TLSClientConfig: to.TLS.Clone(), Protocols: new(http.Protocols)}
		c := &client{http: &http.Client{Transport: named{transport, authority}}, base: "http://" + to.Host, options: options}
		if to.TLS != nil {
			c.base = "https://" + to.Host
			transport.Protocols.SetHTTP2(true)
		} else {
			transport.Protocols.SetUnencryptedHTTP2(true)
		}
		transport.DialContext = c.dial
		return c
	}
}

// named sends the name of a host to the server, unless it is empty.
type named struct {
	*http.Transport
	host string
}

func (n named) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = cmp.Or(n.host, r.Host)
	return n.Transport.RoundTrip(r)
}

func (c *client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

func (c *client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns { // also those that net/http does not count as idle yet
		_ = conn.Close()
	}
	c.http.CloseIdleConnections()
}

func (c *client) Call(ctx context.Context, p rpctest.Procedure, header []string, messages ...string) rpctest.Answer {
	to := connect.NewClient[message, message](c.http, c.base+p.Name, c.options...)
	set := func(h http.Header) {
		for pair := range slices.Chunk(header, 2) {
			h.Add(pair[0], pair[1])
		}
	}
	switch p.Kind {
	case rpctest.ClientStream:
		s := to.CallClientStream(ctx)
		set(s.RequestHeader())
		for _, m := range messages {
			if s.Send(wrapperspb.String(m)) != nil {
				break // why, is known when receiving
			}
		}
		return answered(s.CloseAndReceive())
	case rpctest.ServerStream:
		req := connect.NewRequest(wrapperspb.String(messages[0]))
		set(req.Header())
		s, err := to.CallServerStream(ctx, req)
		if err != nil {
			return failed(err)
		}
		defer s.Close()
		var a rpctest.Answer
		for s.Receive() {
			a.Messages = append(a.Messages, s.Msg().GetValue())
		}
		return finished(a, s.Err(), s.ResponseHeader(), s.ResponseTrailer())
	case rpctest.BidiStream:
		s := to.CallBidiStream(ctx)
		set(s.RequestHeader())
		return converse(s, messages)
	}
	req := connect.NewRequest(wrapperspb.String(messages[0]))
	set(req.Header())
	return answered(to.CallUnary(ctx, req))
}

func converse(s *connect.BidiStreamForClient[message, message], messages []string) rpctest.Answer {
	for _, m := range messages {
		if s.Send(wrapperspb.String(m)) != nil {
			break // why, is known when receiving
		}
	}
	_ = s.CloseRequest()
	defer s.CloseResponse()
	var a rpctest.Answer
	for {
		m, err := s.Receive()
		if errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			a.Messages = append(a.Messages, m.GetValue())
			continue
		}
		return finished(a, err, s.ResponseHeader(), s.ResponseTrailer())
	}
}

func answered(response *connect.Response[message], err error) rpctest.Answer {
	if err != nil {
		return failed(err)
	}
	return rpctest.Answer{Messages: []string{response.Msg.GetValue()}, Header: response.Header(), Trailer: response.Trailer()}
}

func failed(err error) rpctest.Answer {
	a := rpctest.Answer{Error: rpctest.Error{Code: rpctest.Code(connect.CodeOf(err)), Message: err.Error()}}
	if e, ok := errors.AsType[*connect.Error](err); ok {
		a.Header = e.Meta()
	}
	return a
}

func finished(a rpctest.Answer, err error, header, trailer http.Header) rpctest.Answer {
	if err != nil {
		a.Error = failed(err).Error
	}
	a.Header, a.Trailer = header, trailer
	return a
}
