package safelog

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// blocking returns a logger whose handler blocks until free is closed.
func blocking(free <-chan struct{}) (log *slog.Logger, out *bytes.Buffer) {
	out = new(bytes.Buffer)
	return New(slog.New(&failing{Handler: plainText(out), handle: func() { <-free }})), out
}

func TestALineWaitsForASecondAtMostAndTheNextNotAtAll(t *testing.T) {
	for name, log := range map[string]func(free chan struct{}) *slog.Logger{
		"Handle blocks": func(free chan struct{}) *slog.Logger { log, _ := blocking(free); return log },
		"Enabled blocks": func(free chan struct{}) *slog.Logger {
			return New(slog.New(&failing{Handler: slog.DiscardHandler, enabled: func() { <-free }}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free := make(chan struct{})
				log := log(free)
				began := time.Now()
				log.Error("first")
				assert.Equal(t, time.Second, time.Since(began))
				for range 1000 {
					log.Error("another")
				}
				assert.Equal(t, time.Second, time.Since(began))
				close(free)
			})
		})
	}
}

func TestLinesThatWaitAreBoundedAndTheOthersCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		log, out := blocking(free)
		for n := range 1 + maxWaiting + 3 {
			log.Error("m", "n", n)
		}
		close(free)
		synctest.Wait()
		told := strings.Split(strings.TrimSpace(out.String()), "\n")
		assert.Len(t, told, 1+maxWaiting+1)
		assert.Equal(t, "level=ERROR msg=m n=0", told[0])
		assert.Equal(t, "level=ERROR msg=m n=64", told[maxWaiting])
		assert.Equal(t, `level=WARN msg="footfall: lines were left out of the log, because Config.Logger did not return" lines=3`, told[maxWaiting+1])
		began := time.Now()
		log.Error("after")
		assert.Zero(t, time.Since(began))
		assert.True(t, strings.HasSuffix(out.String(), "msg=after\n"), "the log works again")
	})
}

func TestALineIsWrittenWhenTheCallReturnsUnlessTheLogIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := New(slog.New(&failing{Handler: plainText(&out), handle: func() { time.Sleep(patience - 1) }}))
		for n := range 5 {
			log.Error("m")
			assert.Equal(t, n+1, strings.Count(out.String(), "\n"))
		}
	})
}

func TestSilencedLoggerDropsTheLinesThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		log, out := blocking(free)
		log.Error("begun")
		go log.Error("waits")
		synctest.Wait()
		Silence(log)
		close(free)
		synctest.Wait()
		assert.Equal(t, "level=ERROR msg=begun\n", out.String())
		assert.False(t, log.Enabled(context.Background(), slog.LevelError))
	})
}
