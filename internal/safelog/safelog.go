package footfall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// safeLogger returns a logger with log's handler. Whatever the handler does, also a panic
// or runtime.Goexit, the goroutine that logs goes on.
func safeLogger(log *slog.Logger) *slog.Logger {
	return slog.New(&safeHandler{handler: log.Handler(), silent: new(atomic.Bool)})
}

// silence makes a logger from safeLogger write nothing more.
func silence(log *slog.Logger) {
	if h, ok := log.Handler().(*safeHandler); ok {
		h.silent.Store(true)
	}
}

// safeHandler contains the failures of the application's slog.Handler. It calls the
// handler in new goroutines, which is cheap enough: a tracker logs a few lines per outage.
type safeHandler struct {
	handler slog.Handler
	silent  *atomic.Bool // shared with the handlers made from this one
}

var _ slog.Handler = (*safeHandler)(nil)

// Enabled implements slog.Handler. It returns true if the handler's Enabled fails, because
// its Handle may work.
func (h *safeHandler) Enabled(ctx context.Context, level slog.Level) bool {
	if h.silent.Load() {
		return false
	}
	enabled := true
	_ = contain(func() { enabled = h.handler.Enabled(ctx, level) })
	return enabled
}

// Handle implements slog.Handler. A line whose Handle fails is lost.
func (h *safeHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.silent.Load() {
		return nil
	}
	var err error
	if failure := contain(func() { err = h.handler.Handle(ctx, r) }); failure != nil {
		return fmt.Errorf("footfall: Config.Logger: %w", failure)
	}
	return err
}

// WithAttrs implements slog.Handler. If the handler's WithAttrs fails, lines go without
// the attributes.
func (h *safeHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.derive(func() slog.Handler { return h.handler.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler. If the handler's WithGroup fails, lines go without
// the group.
func (h *safeHandler) WithGroup(name string) slog.Handler {
	return h.derive(func() slog.Handler { return h.handler.WithGroup(name) })
}

func (h *safeHandler) derive(from func() slog.Handler) slog.Handler {
	var derived slog.Handler
	if contain(func() { derived = from() }) != nil || derived == nil {
		return h
	}
	return &safeHandler{handler: derived, silent: h.silent}
}

// errGoexit is the failure of a function that called runtime.Goexit.
var errGoexit = errors.New("runtime.Goexit was called")

// contain calls f, a function of the application, in a new goroutine and waits for it. The
// error says that f panicked or called runtime.Goexit, which would end the caller's
// goroutine.
func contain(f func()) (failure error) {
	failure = errGoexit
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
