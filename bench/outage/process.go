package outage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/bench/post/child"
)

// process is a child process.
type process struct {
	*child.Process
	log string // file with the SDK's log
}

// start starts a child in dir, which also holds its log, and returns when it is ready to track.
func start(ctx context.Context, dir string, o *order) (*process, error) {
	name := filepath.Join(dir, "log")
	log, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has a copy
	c, err := child.StartIn(ctx, role, dir, log, o)
	if err != nil {
		return nil, err
	}
	p := &process{c, name}
	if err := p.expect(saysReady, slack); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// expect waits for a message, which must be want.
func (p *process) expect(want string, limit time.Duration) error {
	var word string
	err := p.explain(p.Hear(limit, &word))
	if err == nil && word != want {
		err = fmt.Errorf("the child said %q, not %q", word, want)
	}
	return err
}

// explain adds the SDK's log to an error.
func (p *process) explain(err error) error {
	if err != nil {
		err = fmt.Errorf("%w: %s", err, p.said())
	}
	return err
}

// flush makes the child call Flush, and reports whether its SDK has one.
func (p *process) flush(limit time.Duration) (flushed bool, err error) {
	var word string
	err = p.explain(p.Ask(limit, &word))
	return word == saysFlushed, err
}

// finish makes the child call Close, and returns its result.
func (p *process) finish(limit time.Duration) (r result, err error) {
	if err := p.explain(p.Ask(limit, &r)); err != nil {
		return r, err
	}
	if r.Failed != "" {
		return r, errors.New(r.Failed)
	}
	return r, nil
}

// said returns the beginning of the SDK's log.
func (p *process) said() string {
	const most = 200
	b, _ := os.ReadFile(p.log)
	first, _, more := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if len(first) > most {
		first = first[:most] + "…"
	}
	if more {
		first = fmt.Sprintf("%s (and %d lines more)", first, strings.Count(string(b), "\n")-1)
	}
	return first
}
