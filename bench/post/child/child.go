// Package child runs parts of an experiment in processes of their own: a server that must
// not share a garbage collector with its client, a client that must have one core.
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

// roleVariable and orderVariable are the variables of the environment by which a binary
// learns that it is a child, and of what.
const (
	roleVariable  = "FOOTFALL_BENCH_CHILD"
	orderVariable = "FOOTFALL_BENCH_ORDER"
)

// AnyCore leaves a process where the system puts it.
const AnyCore = -1

// Handle makes the binary that it is part of a child if it was started as one of that
// role: it then runs what it is given and does not return. It is called from an init
// function, so that neither a main function nor a test needs to know.
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

// Parent is who started a child, as the child sees it.
type Parent struct {
	asks chan struct{}
	out  *json.Encoder
}

// newParent sees to it that the child does not outlive its parent: the pipe ends with it,
// however it ends.
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

// Say tells the parent v.
func (p *Parent) Say(v any) error { return p.out.Encode(v) }

// Asks has an element for each call of Process.Ask.
func (p *Parent) Asks() <-chan struct{} { return p.asks }

// Process is a child, as its parent sees it.
type Process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	said  chan []byte // closed when it says no more
}

// Start runs a child of a role on a core, or on AnyCore. Stop must be called.
func Start(ctx context.Context, role string, core int, order any) (*Process, error) {
	return start(ctx, role, core, order, func(cmd *exec.Cmd) { cmd.Stderr = os.Stderr })
}

// StartIn runs a child of a role in a directory, and writes what it logs to a file. Stop
// must be called.
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

// Hear waits for the next thing that the child says.
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

// Ask waits for an answer to Parent.Asks.
func (p *Process) Ask(limit time.Duration, v any) error {
	if _, err := io.WriteString(p.stdin, "\n"); err != nil {
		return err
	}
	return p.Hear(limit, v)
}

// Stop ends the child and returns when it is gone.
func (p *Process) Stop() {
	_ = p.cmd.Process.Kill()
	for range p.said { // so that nothing is left in the pipe
	}
	_ = p.cmd.Wait()
}
