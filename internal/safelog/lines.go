package safelog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// patience is how long a goroutine waits for its line.
	patience = time.Second

	// maxWaiting bounds the lines that wait for a line in progress.
	maxWaiting = 64
)

// errStuck is the error of a line that is not written, or not yet.
var errStuck = errors.New("footfall: Config.Logger does not return")

// lines writes lines one after another, in a goroutine that exists only while there are any.
type lines struct {
	handler slog.Handler

	mu      sync.Mutex
	waiting []*line
	busy    bool // a line is being written
	stuck   bool // it takes longer than patience
	lost    int  // lines beyond maxWaiting
	silent  bool
}

// line is one line of the log.
type line struct {
	write func() error
	done  chan struct{} // closed when it is written, or will not be
	err   error
}

// add queues a line and waits until it is written, unless an earlier line is stuck. It counts
// lines beyond maxWaiting.
func (s *lines) add(write func() error) error {
	l := &line{write: write, done: make(chan struct{})}
	if !s.enqueue(l) {
		return nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-l.done:
		return l.err
	case <-timer.C:
		s.giveUp(l)
		return errStuck
	}
}

// enqueue reports whether add should wait for l.
func (s *lines) enqueue(l *line) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent {
		return false
	}
	if len(s.waiting) == maxWaiting {
		s.lost++
		return false
	}
	s.waiting = append(s.waiting, l)
	if !s.busy {
		s.busy = true
		go s.run()
	}
	return !s.stuck
}

// giveUp notes that l takes long, if it is not written by now.
func (s *lines) giveUp(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-l.done:
	default:
		s.stuck = true
	}
}

// run writes lines until there are none.
func (s *lines) run() {
	for l := s.next(); l != nil; l = s.next() {
		l.err = l.write()
		s.written(l)
	}
}

func (s *lines) next() *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.busy = false
		return nil
	}
	l := s.waiting[0]
	s.waiting = s.waiting[1:]
	if len(s.waiting) == 0 && s.lost > 0 {
		s.waiting = append(s.waiting, s.leftOut())
	}
	return l
}

// leftOut returns a line with the number of lost lines.
func (s *lines) leftOut() *line {
	r := slog.NewRecord(time.Now(), slog.LevelWarn, "footfall: lines were left out of the log, because Config.Logger did not return", 0)
	r.Add("lines", s.lost)
	s.lost = 0
	return &line{write: func() error { return write(context.Background(), s.handler, r) }, done: make(chan struct{})}
}

func (s *lines) written(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = false
	close(l.done)
}

func (s *lines) isSilent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent
}

// silence drops waiting and future lines.
func (s *lines) silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = true
	for _, l := range s.waiting {
		close(l.done)
	}
	s.waiting = nil
}
