package footprint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/footfall-dev/footfall/bench/post/child"
)

// running is a program that is up.
type running struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	url  string
	took time.Duration // until it listened
}

// start returns when the program listens.
func (p *program) start(ctx context.Context) (*running, error) {
	r := &running{cmd: exec.CommandContext(ctx, p.binary)}
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReader(out)
	began := time.Now()
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := r.out.ReadString('\n')
	r.took = time.Since(began)
	if err != nil {
		r.stop()
		return nil, fmt.Errorf("%s did not start: %w", p.binary, err)
	}
	r.url = line[:len(line)-1]
	return r, nil
}

// idle is the state of an idle program.
type idle struct {
	goroutines int
	rss        int // KiB; zero if unknown
}

// idle returns the state, from the program and from the system.
func (r *running) idle() (is idle, err error) {
	if _, err := io.WriteString(r.in, "\n"); err != nil {
		return is, err
	}
	if _, err := fmt.Fscanln(r.out, &is.goroutines); err != nil {
		return is, errors.Join(errors.New("the program has ended"), err)
	}
	is.rss = child.RSS(r.cmd.Process.Pid)
	return is, nil
}

// stop ends the program; it may be called twice.
func (r *running) stop() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}
