package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// roles are the processes of the fleet, which are this program with a role as its first argument.
var roles = map[string]func(ctx context.Context, args []string) error{
	"nats-server": runNATS,
	"shop":        runShop,
	"relay":       runRelay,
}

// runRole runs a role until standard input ends, which is when the fleet stops the process or is
// itself killed.
func runRole(role string, args []string) {
	signal.Ignore(os.Interrupt) // of a terminal, which every process gets
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if err := roles[role](ctx, args); err != nil {
		log.Fatal(role, ": ", err)
	}
}

// process is a running process of the fleet.
type process struct {
	name  string
	ready string // what it printed after the word ready
	log   string // file of its standard error

	cmd    *exec.Cmd
	stdin  io.Closer
	ended  chan struct{}
	err    error // of Wait, once ended is closed
	killed atomic.Bool
}

// startTimeout bounds the start of a process. A relay is ready when the NATS servers have formed
// a cluster.
const startTimeout = time.Minute

// startProcess starts a process, and returns when it has printed that it is ready. line is called with
// each other line that the process prints, including lines before a kill.
func startProcess(ctx context.Context, dir, name string, env []string, line func(string), args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, args...)
	p := &process{name: name, log: filepath.Join(dir, name+".log"), cmd: cmd, ended: make(chan struct{})}
	p.cmd.Env = append(withoutSettings(os.Environ()), env...)
	stderr, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	p.cmd.Stderr = stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan string, 1)
	go p.read(stdout, ready, line)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case p.ready = <-ready:
		return p, nil
	case <-p.ended:
		err = p.failure()
	case <-ctx.Done():
		err = fmt.Errorf("%s did not start: %w%s", name, ctx.Err(), p.lastLine())
	}
	p.kill()
	return nil, err
}

// withoutSettings returns the environment without settings of Footfall.
func withoutSettings(environ []string) (rest []string) {
	for _, v := range environ {
		if !strings.HasPrefix(v, "FOOTFALL_") {
			rest = append(rest, v)
		}
	}
	return rest
}

// read reads the output of the process until the process has ended.
func (p *process) read(stdout io.Reader, ready chan<- string, line func(string)) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			ready <- text
			continue
		}
		line(lines.Text())
	}
	p.err = p.cmd.Wait()
	close(p.ended)
}

// kill ends the process with SIGKILL.
func (p *process) kill() {
	p.killed.Store(true)
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// stopTimeout bounds the end of a process. A shop has closeTimeout to deliver its events.
const stopTimeout = closeTimeout + 10*time.Second

// stop lets the process end by itself.
func (p *process) stop() error {
	_ = p.stdin.Close() // it may have ended
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		p.kill()
		return fmt.Errorf("%s did not end within %s and was killed%s", p.name, stopTimeout, p.lastLine())
	}
	if p.err != nil && !p.killed.Load() {
		return p.failure()
	}
	return nil
}

// failure returns the error of a process that ended too early or with an error.
func (p *process) failure() error {
	err := p.err
	if err == nil {
		err = errors.New("exit status 0")
	}
	return fmt.Errorf("%s ended: %w%s", p.name, err, p.lastLine())
}

// lastLine returns the last line of the log.
func (p *process) lastLine() string {
	text, err := os.ReadFile(p.log)
	if err != nil || len(text) == 0 {
		return ""
	}
	text = []byte(strings.TrimSpace(string(text)))
	return ": " + string(text[strings.LastIndexByte(string(text), '\n')+1:])
}
