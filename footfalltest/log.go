package footfalltest

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// Log keeps log lines, for Config.Logger. The zero Log is empty and ready to use. Its
// methods may be called from several goroutines at once.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Logger returns a logger that writes to l, in the form of slog.TextHandler.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns all lines.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Lines returns how many lines of the level there are.
func (l *Log) Lines(level slog.Level) int {
	return strings.Count(l.String(), "level="+level.String())
}
