// Package safelog contains the failures of functions that the application gave, above all
// of its slog.Handler: a panic or runtime.Goexit there must not end a goroutine of Footfall.
package safelog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// New returns a logger with log's handler. Whatever the handler does, also a panic
// or runtime.Goexit, the goroutine that logs goes on.
func New(log *slog.Logger) *slog.Logger {
	return slog.New(&handler{inner: log.Handler(), silent: new(atomic.Bool)})
}

// Silence makes a logger from [New] write nothing more.
func Silence(log *slog.Logger) {
	if h, ok := log.Handler().(*handler); ok {
		h.silent.Store(true)
	}
}

// handler contains the failures of the application's slog.Handler. It calls the
// handler in new goroutines, which is cheap enough: a tracker logs a few lines per outage.
type handler struct {
	inner  slog.Handler
	silent *atomic.Bool // shared with the handlers made from this one
}

var _ slog.Handler = (*handler)(nil)

// Enabled implements slog.Handler. It returns true if the handler's Enabled fails, because
// its Handle may work.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	if h.silent.Load() {
		return false
	}
	enabled := true
	_ = Contain(func() { enabled = h.inner.Enabled(ctx, level) })
	return enabled
}

// Handle implements slog.Handler. A line whose Handle fails is lost.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if h.silent.Load() {
		return nil
	}
	var err error
	if failure := Contain(func() { err = h.inner.Handle(ctx, r) }); failure != nil {
		return fmt.Errorf("footfall: Config.Logger: %w", failure)
	}
	return err
}

// WithAttrs implements slog.Handler. If the handler's WithAttrs fails, lines go without
// the attributes.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.derive(func() slog.Handler { return h.inner.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler. If the handler's WithGroup fails, lines go without
// the group.
func (h *handler) WithGroup(name string) slog.Handler {
	return h.derive(func() slog.Handler { return h.inner.WithGroup(name) })
}

func (h *handler) derive(from func() slog.Handler) slog.Handler {
	var derived slog.Handler
	if Contain(func() { derived = from() }) != nil || derived == nil {
		return h
	}
	return &handler{inner: derived, silent: h.silent}
}

// ErrGoexit is the failure of a function that called runtime.Goexit.
var ErrGoexit = errors.New("runtime.Goexit was called")

// Contain calls f, a function of the application, in a new goroutine and waits for it. The
// error says that f panicked or called runtime.Goexit, which would end the caller's
// goroutine.
func Contain(f func()) (failure error) {
	failure = ErrGoexit
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				failure = fmt.Errorf("panic: %v", v)
			}
		}()
		f()
		failure = nil
	}()
	<-done
	return failure
}
