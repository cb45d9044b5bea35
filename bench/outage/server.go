package outage

import (
	"context"
	"io"
	"log"
	"maps"
	"net/http"
	"sync"
	"time"
)

// mood is the behavior of a server.
type mood uint8

const (
	working     mood = iota
	refusing         // connections
	hanging          // takes requests and never answers
	limiting         // 429 with Retry-After to everything
	failingOnce      // 500 to each request with a new event
)

const (
	// Retry-After of a limiting server
	patience = 2 * time.Second

	// burst is how long after a 429 requests count as sent before it.
	burst = 250 * time.Millisecond
)

// server accepts the events of one contestant and counts them.
type server struct {
	who  *contestant
	port *port
	http http.Server
	stop chan struct{} // closed to release hanging requests

	mu      sync.Mutex
	mood    mood
	opened  bool
	seen    map[int]bool // received events, accepted or not
	keys    map[int]string
	limited time.Time // time of the last 429 that asked for a wait
	active  int
	counts  counts
}

// counts are the observations of a server.
type counts struct {
	accepted map[int]int // number of times, by the event's number
	sameKey  int         // number of times with the event's earlier Idempotency-Key
	requests int
	hurried  int // requests within the wait of a 429
	strange  int // requests that could not be decoded
	why      error
}

func newServer(who *contestant, m mood) (*server, error) {
	p, err := newPort()
	if err != nil {
		return nil, err
	}
	s := &server{who: who, port: p, mood: m, stop: make(chan struct{}), seen: make(map[int]bool), keys: make(map[int]string)}
	s.counts.accepted = make(map[int]int)
	s.http.Handler = s
	s.http.ErrorLog = log.New(io.Discard, "", 0)
	if m != refusing {
		err = s.listen()
	}
	return s, err
}

func (s *server) listen() error {
	l, err := s.port.open()
	if err != nil {
		return err
	}
	s.opened = true
	go func() { _ = s.http.Serve(l) }() // ends with close
	return nil
}

// heal makes the server work.
func (s *server) heal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mood == hanging {
		close(s.stop)
	}
	s.mood = working
	if s.opened {
		return nil
	}
	return s.listen()
}

func (s *server) close() {
	_ = s.http.Close()
	s.port.close()
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := s.enter()
	defer s.leave()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	ns, err := s.who.Decode(r, body)
	if err != nil {
		s.puzzled(err)
	}
	answer(w, r, ns)
}

// enter counts a request and returns its handler.
func (s *server) enter() func(http.ResponseWriter, *http.Request, []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active++
	s.counts.requests++
	switch s.mood {
	case hanging:
		return s.hang
	case limiting:
		s.limit(time.Now())
		return askForPatience
	case failingOnce:
		return s.failOnce
	}
	return s.accept
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
}

func (s *server) puzzled(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.strange++
	s.counts.why = err
}

func (s *server) accept(w http.ResponseWriter, r *http.Request, ns []int) {
	s.count(ns, r.Header.Get("Idempotency-Key"))
	s.who.Answer(w)
}

func (s *server) count(ns []int, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range ns {
		s.counts.accepted[n]++
		if key != "" && s.keys[n] == key {
			s.counts.sameKey++
		}
		s.keys[n] = key
	}
}

func (s *server) hang(_ http.ResponseWriter, r *http.Request, _ []int) {
	select {
	case <-s.stop:
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler) // closes the connection without an answer
}

// limit records a 429.
func (s *server) limit(now time.Time) {
	switch since := now.Sub(s.limited); {
	case since >= patience:
		s.limited = now
	case since > burst:
		s.counts.hurried++
	}
}

func askForPatience(w http.ResponseWriter, _ *http.Request, _ []int) {
	w.Header().Set("Retry-After", "2")
	w.WriteHeader(http.StatusTooManyRequests)
}

func (s *server) failOnce(w http.ResponseWriter, r *http.Request, ns []int) {
	if s.anyNew(ns) {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	s.accept(w, r, ns)
}

func (s *server) anyNew(ns []int) (found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range ns {
		found = found || !s.seen[n]
		s.seen[n] = true
	}
	return found
}

// settled waits until no request has arrived for a while and none is open, and returns the
// counts. The client must have ended.
func (s *server) settled(ctx context.Context) counts {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	quiet, before := 0, -1
	for quiet < 5 && ctx.Err() == nil {
		<-tick.C
		active, requests := s.busy()
		if quiet++; active > 0 || requests != before {
			quiet = 0
		}
		before = requests
	}
	return s.read()
}

func (s *server) read() counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.accepted = maps.Clone(c.accepted)
	return c
}

func (s *server) busy() (active, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active, s.counts.requests
}
