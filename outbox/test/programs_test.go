package test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/outbox"
)

// Variables of the programs that tests stop and kill: the test binary itself.
const (
	programVar = "FOOTFALL_TEST_OUTBOX"
	driverVar  = "FOOTFALL_TEST_OUTBOX_DRIVER"
	dialectVar = "FOOTFALL_TEST_OUTBOX_DIALECT"
	dsnVar     = "FOOTFALL_TEST_OUTBOX_DSN"
	apiVar     = "FOOTFALL_TEST_OUTBOX_API"
	nameVar    = "FOOTFALL_TEST_OUTBOX_NAME"
)

// inFlight is how many requests a program makes at once.
const inFlight = 8

// program is a process with a Box.
type program struct {
	*exec.Cmd
	out *bufio.Reader
}

// start starts a program, which ends with the test.
func (d *database) start(t testing.TB, api *footfalltest.API, what, name string) *program {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), programVar+"="+what, driverVar+"="+d.driver, dialectVar+"="+strconv.Itoa(int(d.dialect)),
		dsnVar+"="+d.dsn, apiVar+"="+api.URL, nameVar+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &program{cmd, bufio.NewReader(out)}
	t.Cleanup(p.kill)
	return p
}

// says waits for the next line of the program.
func (p *program) says(t testing.TB, line string) {
	t.Helper()
	said, err := p.out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, line+"\n", said)
}

func (p *program) kill() {
	_ = p.Process.Kill() // it may have ended
	_ = p.Wait()
}

func (p *program) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	require.NoError(t, p.Process.Signal(s))
}

// must returns v, or ends the program.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// runProgram is the main function of a program.
func runProgram(what string) {
	dialect := must(strconv.Atoi(os.Getenv(dialectVar)))
	db := must(sql.Open(os.Getenv(driverVar), os.Getenv(dsnVar)))
	d := &database{DB: db, dialect: outbox.Dialect(dialect)}
	tracker := quick(&footfalltest.API{URL: os.Getenv(apiVar)}, &footfalltest.Log{})
	tracker.MaxInFlight = inFlight
	cfg := d.config()
	cfg.WriteOnly = what == "tracks" || what == "commits"
	b := must(outbox.Open(tracker, cfg))
	name := os.Getenv(nameVar)
	switch what {
	case "tracks":
		tx := must(db.Begin())
		must(tx.Exec(fmt.Sprintf("INSERT INTO orders VALUES ('%s')", name)))
		must(0, b.Track(context.Background(), tx, "order_paid"))
	case "commits":
		must(0, d.tryOrder(context.Background(), b, name, sql.LevelDefault))
	case "sells":
		d.sell(b, name)
	}
	fmt.Println("ready")
	select {}
}

// sell commits orders until the program is killed.
func (d *database) sell(b *outbox.Box, name string) {
	var sellers sync.WaitGroup
	for seller := range 3 {
		sellers.Go(func() {
			for i := 0; ; i++ {
				if d.tryOrder(context.Background(), b, fmt.Sprint(name, ".", seller, ".", i), sql.LevelDefault) != nil {
					time.Sleep(10 * time.Millisecond) // the database is away
				}
				b.Wake()
			}
		})
	}
	fmt.Println("sells")
	sellers.Wait()
}
