// Package child runs parts of an experiment in separate processes: a server that must not share
// a garbage collector with its client, or a client that must have one core.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// roleVariable and orderVariable are the environment variables with a child's role and order.
const (
	roleVariable  = "FOOTFALL_BENCH_CHILD"
	orderVariable = "FOOTFALL_BENCH_ORDER"
)

// AnyCore does not pin a process to a core.
const AnyCore = -1

// Handle makes this process a child if it was started with the role: it then calls run and does
// not return. Call it from an init function, so that it works in commands and tests.
func Handle[Order any](role string, run func(order Order, p *Parent) error) {
	if os.Getenv(roleVariable) != role {
		return
	}
	p := newParent()
	var order Order
	err := json.Unmarshal([]byte(os.Getenv(orderVariable)), &order)
	if err == nil {
		err = run(order, p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Parent is the child's view of its parent.
type Parent struct {
	asks chan struct{}
	out  *json.Encoder
}

// newParent ensures that the child does not outlive its parent, whose end closes the pipe.
func newParent() *Parent {
	p := &Parent{make(chan struct{}, 16), json.NewEncoder(os.Stdout)}
	go func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			p.asks <- struct{}{}
		}
		os.Exit(0)
	}()
	return p
}

// Say sends v to the parent.
func (p *Parent) Say(v any) error { return p.out.Encode(v) }

// Asks receives a value for each call of [Process.Ask].
func (p *Parent) Asks() <-chan struct{} { return p.asks }

// Process is the parent's view of a child.
type Process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	said  chan []byte // closed after the last message
}

// Start starts a child with a role on a core, or on AnyCore. Call Stop to end it.
func Start(ctx context.Context, role string, core int, order any) (*Process, error) {
	return start(ctx, role, core, order, func(cmd *exec.Cmd) { cmd.Stderr = os.Stderr })
}

// StartIn starts a child with a role in a directory, with a file for its log. Call Stop to end
// it.
func StartIn(ctx context.Context, role, dir string, log *os.File, order any) (*Process, error) {
	return start(ctx, role, AnyCore, order, func(cmd *exec.Cmd) { cmd.Dir, cmd.Stderr = dir, log })
}

func start(ctx context.Context, role string, core int, order any, place func(*exec.Cmd)) (*Process, error) {
	text, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.CommandContext(ctx, self), said: make(chan []byte, 16)}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role, orderVariable+"="+string(text))
	place(p.cmd)
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := StartOn(core, p.cmd); err != nil {
		return nil, err
	}
	go p.listen(out)
	return p, nil
}

func (p *Process) listen(out io.Reader) {
	defer close(p.said)
	in := bufio.NewScanner(out)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		p.said <- append([]byte(nil), in.Bytes()...)
	}
}

// Hear waits for the child's next message.
func (p *Process) Hear(limit time.Duration, v any) error {
	select {
	case line, ok := <-p.said:
		if !ok {
			return errors.New("the child has ended without an answer")
		}
		return json.Unmarshal(line, v)
	case <-time.After(limit):
		return fmt.Errorf("no answer of the child in %v", limit)
	}
}

// Ask asks the child and waits for its answer.
func (p *Process) Ask(limit time.Duration, v any) error {
	if _, err := io.WriteString(p.stdin, "\n"); err != nil {
		return err
	}
	return p.Hear(limit, v)
}

// Stop ends the child and waits for it.
func (p *Process) Stop() {
	_ = p.cmd.Process.Kill()
	for range p.said { // drain the pipe
	}
	_ = p.cmd.Wait()
}
