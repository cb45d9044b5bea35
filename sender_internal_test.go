package footfall

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/internal/wire"
)

func TestAnEventThatFailsTwiceWhileOthersAreAcceptedIsASuspect(t *testing.T) {
	for name, row := range map[string]struct {
		change func(p *picking, w *worker)
		want   bool
	}{
		"others are accepted":     {func(*picking, *worker) {}, true},
		"no other since":          {func(_ *picking, w *worker) { w.one[0].attempts.Last = time.Now() }, false},
		"the tracker closes":      {func(_ *picking, w *worker) { w.closing = true }, false},
		"the API fails at random": {func(p *picking, _ *worker) { acceptRetries(p, 64) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			inPicking(t, func(t *testing.T, p *picking) {
				r, kind := named("x")
				w := &worker{one: [1]Record{r}, pass: retry.Pass{Began: time.Now()}}
				w.one[0].attempts = retry.Attempts{Failures: 1, Strikes: 1, Last: time.Now()}
				p.scopes.Fail(kind, w.pass, &retry.Failure{First: true}, time.Now())
				time.Sleep(time.Millisecond)
				p.scopes.Accept(kind, w.pass, time.Now())
				row.change(p, w)
				p.crew.Begin(&w.member, false, time.Now())
				p.fail(p.src, w, &ending{verdict: wire.Later, status: http.StatusInternalServerError, err: errors.New("500")})
				_, ok := p.src.held.Take(retry.Suspect, time.Now().Add(time.Hour))
				assert.Equal(t, row.want, ok)
			})
		})
	}
}

// acceptRetries has the API accept n events that have failed before.
func acceptRetries(p *picking, n int) {
	for range n {
		w := &worker{pass: retry.Pass{Began: time.Now()}}
		w.one[0].attempts.Failures = 1
		p.crew.Begin(&w.member, false, time.Now())
		p.accept(p.src, w)
	}
}

func TestAnAPIThatAcceptsRetriesFailsAtRandom(t *testing.T) {
	inPicking(t, func(t *testing.T, p *picking) {
		acceptRetries(p, 64)
		assert.True(t, p.scopes.FailsAtRandom())
	})
}
