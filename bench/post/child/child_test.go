//go:build ci

package child

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const patience = 10 * time.Second

func init() {
	Handle("cores", func(_ int, p *Parent) error { return p.Say(runtime.GOMAXPROCS(0)) })
	Handle("echo", func(order string, p *Parent) error {
		for range p.Asks() {
			if err := p.Say(order); err != nil {
				return err
			}
		}
		return nil
	})
	Handle("failing", func(int, *Parent) error { return errors.New("as it should") })
}

func TestAChildRunsOnItsCore(t *testing.T) {
	if !CanPin() {
		t.Skip("one core, or a system that does not pin")
	}
	runtime.LockOSThread() // the parent's thread must be restored
	defer runtime.UnlockOSThread()
	for core, want := range map[int]int{0: 1, 1: 1, AnyCore: runtime.NumCPU()} {
		p, err := Start(t.Context(), "cores", core, 0)
		require.NoError(t, err)
		var got int
		require.NoError(t, p.Hear(patience, &got))
		p.Stop()
		require.Equal(t, want, got)
	}
	require.Equal(t, runtime.NumCPU(), nproc(t), "a parent stays where it was")
}

// nproc returns the number of cores of a new process.
func nproc(t *testing.T) int {
	t.Helper()
	p, err := Start(t.Context(), "cores", AnyCore, 0)
	require.NoError(t, err)
	defer p.Stop()
	var n int
	require.NoError(t, p.Hear(patience, &n))
	return n
}

func TestAChildAnswersWhatItIsAsked(t *testing.T) {
	p, err := Start(t.Context(), "echo", AnyCore, "hello")
	require.NoError(t, err)
	defer p.Stop()
	for range 3 {
		var got string
		require.NoError(t, p.Ask(patience, &got))
		require.Equal(t, "hello", got)
	}
}

func TestAChildThatFailsIsAnError(t *testing.T) {
	p, err := Start(t.Context(), "failing", AnyCore, 0)
	require.NoError(t, err)
	defer p.Stop()
	require.Error(t, p.Hear(patience, new(string)))
}

// The pipe to the children ends with the parent, in all cases.
func TestAChildEndsWithItsPipe(t *testing.T) {
	p, err := Start(t.Context(), "echo", AnyCore, "hello")
	require.NoError(t, err)
	defer p.Stop()
	require.NoError(t, p.stdin.Close())
	require.Eventually(t, func() bool {
		select {
		case _, ok := <-p.said:
			return !ok
		default:
			return false
		}
	}, patience, time.Millisecond)
	require.NoError(t, p.cmd.Wait(), "it ended by itself")
}

func TestMemoryOfTheProcessIsRead(t *testing.T) {
	if runtime.GOOS == "linux" { // where nproc is exact
		require.Positive(t, RSS(os.Getpid()))
		require.Positive(t, PeakRSS())
	}
	require.Zero(t, RSS(-1), "there is none")
}
