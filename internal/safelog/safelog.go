// Package safelog calls functions of the application, mainly its slog.Handler, so that their
// failures stop no goroutine of Footfall: a panic, runtime.Goexit or a call that blocks.
package safelog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// New returns a logger with log's handler. If the handler panics or calls runtime.Goexit, the
// goroutine that logs continues. It waits for its line for at most a second, and not at all
// while an earlier line takes longer.
func New(log *slog.Logger) *slog.Logger {
	return slog.New(&handler{inner: log.Handler(), lines: &lines{handler: log.Handler()}})
}

// Silence stops a logger of [New], except for a line that is in progress.
func Silence(log *slog.Logger) {
	if h, ok := log.Handler().(*handler); ok {
		h.lines.silence()
	}
}

// handler protects callers from failures of the application's slog.Handler. It calls the
// handler in new goroutines, which is cheap enough because a tracker logs a few lines per
// outage.
type handler struct {
	inner slog.Handler
	lines *lines // shared with the handlers made from this one
}

var _ slog.Handler = (*handler)(nil)

// Enabled implements slog.Handler. The handler's Enabled is called before its Handle, where
// it may block.
func (h *handler) Enabled(context.Context, slog.Level) bool { return !h.lines.isSilent() }

// Handle implements slog.Handler. A line whose Handle fails is lost.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone() // it may be written after Handle returns
	return h.lines.add(func() error { return write(ctx, h.inner, r) })
}

// write writes a line. If Enabled fails it continues, because Handle may work.
func write(ctx context.Context, h slog.Handler, r slog.Record) error {
	enabled := true
	_ = Contain(func() { enabled = h.Enabled(ctx, r.Level) })
	if !enabled {
		return nil
	}
	var err error
	if failure := Contain(func() { err = h.Handle(ctx, r) }); failure != nil {
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
	return &handler{inner: derived, lines: h.lines}
}

// ErrGoexit is the error of a function that called runtime.Goexit.
var ErrGoexit = errors.New("runtime.Goexit was called")

// Contain calls f, a function of the application, in a new goroutine and waits for it. The
// error says that f panicked or called runtime.Goexit, which would end the caller's
// goroutine.
func Contain(f func()) (failure error) { return <-Start(f) }

// Start is [Contain] without the wait. It sends the error, or nil, when f has ended.
func Start(f func()) (ended <-chan error) {
	done := make(chan error, 1)
	go func() {
		failure := ErrGoexit
		defer func() { done <- failure }()
		defer func() {
			if v := recover(); v != nil {
				failure = fmt.Errorf("panic: %v", v)
			}
		}()
		f()
		failure = nil
	}()
	return done
}
