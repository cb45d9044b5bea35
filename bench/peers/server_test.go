//go:build ci

package peers

import (
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
)

// Server receives the requests of one peer, on loopback, and counts their events.
type Server struct {
	URL string

	// Misbehave is called for each request, with its number from 1, before its events are
	// counted. It answers w and returns true, or returns false to count the events. Set it
	// before the first request.
	Misbehave func(w http.ResponseWriter, r *http.Request, attempt int) (handled bool)

	peer   Peer
	server *http.Server

	mu       sync.Mutex
	attempts int
	arrived  map[int]int // number of times, by n
	failures []error
}

// NewServer returns a listening Server.
func NewServer(peer Peer) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + listener.Addr().String(), peer: peer, arrived: map[int]int{}}
	s.server = &http.Server{Handler: s}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

// ServeHTTP handles a request of the peer.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.fail(err)
		return
	}
	if s.Misbehave != nil && s.Misbehave(w, r, s.next()) {
		return
	}
	ns, err := s.peer.Decode(r, body)
	if err != nil {
		s.fail(err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.count(ns)
	s.peer.Answer(w)
}

func (s *Server) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts++
	return s.attempts
}

func (s *Server) count(ns []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range ns {
		s.arrived[n]++
	}
}

func (s *Server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, err)
}

// Arrived returns how often each n arrived.
func (s *Server) Arrived() map[int]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.arrived)
}

// Failures returns the errors of undecodable requests.
func (s *Server) Failures() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.failures...)
}

// Close closes the server and its connections.
func (s *Server) Close() { _ = s.server.Close() }
