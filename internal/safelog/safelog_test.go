package safelog

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// failing is a slog.Handler whose methods call the functions that are set.
type failing struct {
	slog.Handler
	enabled, handle, withAttrs, withGroup func()
}

func (f *failing) Enabled(ctx context.Context, level slog.Level) bool {
	call(f.enabled)
	return f.Handler.Enabled(ctx, level)
}

func (f *failing) Handle(ctx context.Context, r slog.Record) error {
	call(f.handle)
	return f.Handler.Handle(ctx, r)
}

func (f *failing) WithAttrs(attrs []slog.Attr) slog.Handler {
	call(f.withAttrs)
	derived := *f
	derived.Handler = f.Handler.WithAttrs(attrs)
	return &derived
}

func (f *failing) WithGroup(name string) slog.Handler {
	call(f.withGroup)
	derived := *f
	derived.Handler = f.Handler.WithGroup(name)
	return &derived
}

func call(f func()) {
	if f != nil {
		f()
	}
}

// failures has a function of the application for each kind of failure.
var failures = map[string]func(){
	"panic":          func() { panic("in the log") },
	"panic of nil":   func() { panic(nil) },
	"runtime.Goexit": runtime.Goexit,
}

// plainText is a handler that writes to out without the time.
func plainText(out *bytes.Buffer) slog.Handler {
	return slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
}

func TestSafeLoggerLosesOnlyFailedLines(t *testing.T) {
	t.Parallel()
	for name, fail := range failures {
		for method, row := range map[string]struct {
			handler failing
			want    string
		}{
			"nothing":   {failing{}, "level=ERROR msg=m group.a=1 group.b=2\n"},
			"Enabled":   {failing{enabled: fail}, "level=ERROR msg=m group.a=1 group.b=2\n"},
			"Handle":    {failing{handle: fail}, ""},
			"WithAttrs": {failing{withAttrs: fail}, "level=ERROR msg=m group.b=2\n"},
			"WithGroup": {failing{withGroup: fail}, "level=ERROR msg=m a=1 b=2\n"},
			"all":       {failing{nil, fail, fail, fail, fail}, ""},
		} {
			t.Run(name+" in "+method, func(t *testing.T) {
				t.Parallel()
				var out bytes.Buffer
				row.handler.Handler = plainText(&out)
				New(slog.New(&row.handler)).WithGroup("group").With("a", 1).Error("m", "b", 2)
				assert.Equal(t, row.want, out.String())
			})
		}
	}
}

// shapeless is a slog.Handler whose WithAttrs and WithGroup return nil.
type shapeless struct{ slog.Handler }

func (shapeless) WithAttrs([]slog.Attr) slog.Handler { return nil }
func (shapeless) WithGroup(string) slog.Handler      { return nil }

func TestSafeLoggerKeepsItsHandlerIfADerivedHandlerIsNil(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	New(slog.New(shapeless{plainText(&out)})).WithGroup("group").With("a", 1).Error("m", "b", 2)
	assert.Equal(t, "level=ERROR msg=m b=2\n", out.String())
}

func TestSafeLoggerSaysWhyALineIsLost(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"panic":          "footfall: Config.Logger: panic: in the log",
		"runtime.Goexit": "footfall: Config.Logger: runtime.Goexit was called",
	} {
		h := New(slog.New(&failing{Handler: plainText(new(bytes.Buffer)), handle: failures[name]})).Handler()
		assert.EqualError(t, h.Handle(t.Context(), slog.Record{}), want)
	}
}

// valuer is an attribute with a value that is computed when a line is written.
type valuer func()

func (v valuer) LogValue() slog.Value { v(); return slog.StringValue("made") }

// text is an attribute with its own text.
type text func()

func (v text) String() string               { v(); return "made" }
func (v text) Error() string                { v(); return "made" }
func (v text) MarshalText() ([]byte, error) { v(); return []byte("made"), nil }

func TestSafeLoggerSurvivesValuesThatFail(t *testing.T) {
	t.Parallel()
	for name, fail := range failures {
		for kind, value := range map[string]any{"slog.LogValuer": valuer(fail), "text": text(fail)} {
			t.Run(name+" in a "+kind, func(t *testing.T) {
				t.Parallel()
				var out bytes.Buffer
				log := New(slog.New(plainText(&out)))
				log.Error("m", "value", value)
				log.With("value", value).Error("m")
				out.Reset()
				log.Error("m", "b", 2)
				assert.Equal(t, "level=ERROR msg=m b=2\n", out.String(), "the lines after it")
			})
		}
	}
}

func TestSilencedLoggerWritesNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := New(slog.New(plainText(&out)))
	derived := log.With("a", 1)
	Silence(log)
	for _, l := range []*slog.Logger{log, derived, derived.WithGroup("group")} {
		l.Error("m")
		assert.False(t, l.Enabled(t.Context(), slog.LevelError))
		require.NoError(t, l.Handler().Handle(t.Context(), slog.Record{}))
	}
	assert.Empty(t, out.String())
}
