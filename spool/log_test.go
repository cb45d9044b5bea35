package spool_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/spool"
)

// failing is a slog.Handler whose methods call the functions that are set.
type failing struct {
	slog.Handler
	enabled, handle func()
}

func (f failing) Enabled(ctx context.Context, level slog.Level) bool {
	f.enabled()
	return f.Handler.Enabled(ctx, level)
}

func (f failing) Handle(ctx context.Context, r slog.Record) error {
	f.handle()
	return f.Handler.Handle(ctx, r)
}

func TestALoggerThatFailsEndsNothing(t *testing.T) {
	t.Parallel()
	works := func() {}
	for name, fail := range map[string]func(){
		"panic": func() { panic("in the log") }, "runtime.Goexit": runtime.Goexit,
	} {
		for method, row := range map[string]struct {
			failing
			lines int
		}{
			"Enabled": {failing{enabled: fail, handle: works}, 1},
			"Handle":  {failing{enabled: works, handle: fail}, 0},
		} {
			t.Run(name+" in "+method, func(t *testing.T) {
				t.Parallel()
				log := &footfalltest.Log{}
				row.Handler = slog.NewTextHandler(log, nil)
				dir, next := t.TempDir(), newAPI(false)
				s := open(t, dir, next, func(_ *footfall.Config, c *config) {
					c.MaxBytes, c.Logger = 100_000, slog.New(row.failing)
				})
				s.keep(0, 3000)
				assert.Positive(t, s.spool.Stats().Dropped, "of which the log is told")
				next.set(true)
				s.flush()
				require.NoError(t, s.end())
				s.balanced()
				assert.Equal(t, row.lines, log.Lines(slog.LevelWarn), log)
				again, err := spool.New(spool.Config{Dir: dir, Next: next})
				require.NoError(t, err, "the directory is free")
				require.NoError(t, again.Close())
			})
		}
	}
}

func TestALogThatBlocksForeverDelaysNothing(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]func() string{
		"a disk that fails":   func() string { dir, _ := blocked(t); return dir },
		"a file that is full": func() string { return t.TempDir() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			free := make(chan struct{})
			t.Cleanup(func() { close(free) })
			log := failing{Handler: slog.NewTextHandler(&footfalltest.Log{}, nil), enabled: func() {}, handle: func() { <-free }}
			dir, next := dir(), newAPI(true)
			s := open(t, dir, next, func(_ *footfall.Config, c *config) { c.MaxBytes, c.Logger = 100_000, slog.New(log) })
			for range 20 {
				s.track(0, 300)
				s.flush()
			}
			next.set(false)
			for range 20 {
				s.track(0, 100)
			}
			next.set(true)
			s.flush()
			require.NoError(t, s.end())
			s.balanced()
			again, err := spool.New(spool.Config{Dir: dir, Next: next})
			require.NoError(t, err, "the directory is free")
			require.NoError(t, again.Close())
		})
	}
}
