package outage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// process is a child as its parent sees it.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string // closed when it says no more
	log   string      // the file with what the SDK wrote to its own log
}

// start runs a child in dir, where its log goes as well.
func start(ctx context.Context, dir string, o *order) (*process, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, self), lines: make(chan string, 8), log: filepath.Join(dir, "log")}
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), orderVariable+"="+string(text))
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has it
	p.cmd.Stderr = log
	return p, p.run()
}

func (p *process) run() (err error) {
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(p.lines)
		in := bufio.NewScanner(out)
		for in.Scan() {
			p.lines <- in.Text()
		}
	}()
	return nil
}

// hear waits for the child's next line.
func (p *process) hear(limit time.Duration) (string, error) {
	select {
	case line, ok := <-p.lines:
		if !ok {
			return "", errors.New("the child ended without a word: " + p.said())
		}
		return line, nil
	case <-time.After(limit):
		return "", fmt.Errorf("the child said nothing for %v: %s", limit, p.said())
	}
}

// expect waits for a line that must be the given one.
func (p *process) expect(want string, limit time.Duration) error {
	line, err := p.hear(limit)
	if err == nil && line != want {
		err = fmt.Errorf("the child said %q, not %q", line, want)
	}
	return err
}

// finish lets the child go on to Flush and Close, and returns its result. It calls wait
// before Close if the SDK has no Flush.
func (p *process) finish(limit time.Duration, wait func()) (r result, err error) {
	line, err := p.answer(limit)
	if err == nil && line == saysUnflushed {
		wait()
		line, err = p.answer(limit)
	}
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return r, err
	}
	if r.Failed != "" {
		return r, errors.New(r.Failed)
	}
	return r, nil
}

// answer lets the child go on, and returns what it says next.
func (p *process) answer(limit time.Duration) (string, error) {
	if _, err := io.WriteString(p.stdin, "\n"); err != nil {
		return "", err
	}
	return p.hear(limit)
}

// kill ends the child as a crash would, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	for range p.lines { // so that nothing is left in the pipe
	}
	_ = p.cmd.Wait()
}

// said returns the beginning of what the SDK wrote to its log, and drops the rest.
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
