package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// sweeper removes texts that no event uses any more and gives back space, in a goroutine, concurrently
// with the writer.
type sweeper struct {
	file   *file
	writer *writer
	reader *reader
	logger *slog.Logger
	due    atomic.Bool   // texts may have been noted since the last sweep began
	wake   chan struct{} // of length 1; receives after due was set
	done   chan struct{}

	stepping turn // held during a step
	// Of the holder of stepping.
	sweep *sweep // nil between two sweeps, and until it is read from the file
	dirty bool   // the log may have texts that were removed from the file

	rows  int   // that a step reads
	texts int   // that a transaction removes
	given int64 // pages that a transaction gives back
	spare int64 // pages that may be free
}

// Limits of a step, the pause after one that failed, and the interval at which free pages are counted.
const (
	sweptRows  = 20_000
	sweptTexts = 1000
	sweepRetry = 10 * time.Second
	countEvery = 10 * time.Minute
)

func newSweeper(f *file, w *writer, rd *reader, logger *slog.Logger) *sweeper {
	s := &sweeper{
		file: f, writer: w, reader: rd, logger: logger, rows: sweptRows, texts: sweptTexts, given: givenPages, spare: sparePages,
		wake: make(chan struct{}, 1), done: make(chan struct{}), stepping: make(turn, 1),
	}
	s.due.Store(true) // a sweep of an earlier process may not have ended
	return s
}

// wakeUp has the sweeper look for texts.
func (s *sweeper) wakeUp() {
	s.due.Store(true)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run sweeps until ctx ends or it meets damage.
func (s *sweeper) run(ctx context.Context) {
	defer close(s.done)
	for well := true; ctx.Err() == nil; {
		begin, commits := time.Now(), s.writer.commits.Load()
		more, err := s.step(ctx)
		switch {
		case isDamage(err):
			s.leave(ctx, err)
			return
		case err != nil:
			s.complain(err, well)
			sleep(ctx, nil, time.After(sweepRetry))
		case more:
			_ = giveWay(ctx, time.Since(begin), s.writer.commits.Load()-commits) // fails if ctx ends
		default:
			sleep(ctx, s.wake, time.After(countEvery))
		}
		well = err == nil
	}
}

// sleep waits until it is woken, it is time, or ctx ends.
func sleep(ctx context.Context, wake <-chan struct{}, until <-chan time.Time) {
	select {
	case <-wake:
	case <-until:
	case <-ctx.Done():
	}
}

// complain logs the first of several failures, and none while the store closes. A report that keeps
// the log from being emptied is no failure.
func (s *sweeper) complain(err error, well bool) {
	if well && !errors.Is(err, store.ErrBusy) && s.file.closing.Err() == nil {
		s.logger.Warn("sqlite: cannot remove the texts of removed events or give back their space, will retry", "file", s.file.path, "error", err)
	}
}

// leave leaves what is to be swept to the next start: which texts the events of a damaged page use is not
// known, so none may be removed.
func (s *sweeper) leave(ctx context.Context, cause error) {
	s.logger.Error("sqlite: the file is damaged, so the texts of removed events stay in it: restore a backup", "file", s.file.path, "error", cause)
	reportOnce(ctx, s.reader, s.writer, unreadableSweep, cause)
}

// step does part of a sweep, and reports whether there is more to do.
func (s *sweeper) step(ctx context.Context) (more bool, err error) {
	if err := s.stepping.wait(ctx); err != nil {
		return false, err
	}
	defer s.stepping.done()
	return s.stepInTurn(ctx)
}

func (s *sweeper) stepInTurn(ctx context.Context) (more bool, err error) {
	switch {
	case s.sweep != nil:
		return true, s.sweepOn(ctx)
	case s.due.Load():
		return true, s.begin(ctx)
	}
	if given, err := s.giveBack(ctx); given || err != nil {
		return given, err
	}
	if s.dirty {
		err = s.writer.scrub(ctx)
		s.dirty = err != nil
	}
	return false, err
}

// begin continues the sweep of the file, or begins one if texts are noted.
func (s *sweeper) begin(ctx context.Context) error {
	s.due.Store(false)
	next, err := s.nextSweep(ctx)
	if err != nil {
		s.due.Store(true)
	}
	s.sweep = next
	return err
}

// sweepOn does a step of the sweep. After an error the sweep is read from the file again, because the
// writer may have done the step or not.
func (s *sweeper) sweepOn(ctx context.Context) error {
	err := s.sweep.step(ctx, s)
	if err != nil {
		s.due.Store(true)
	}
	if err != nil || s.sweep.step == nil {
		s.sweep = nil
	}
	return err
}
