package collector

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestOnAnswerGetsEachAnswerOfTheAPI(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var answers []string
	broken := adding{storetest.NewReference(), func(_ context.Context, e store.Event) (bool, error) {
		switch e.Name {
		case "panic":
			panic("broken")
		case "full":
			return false, errors.New("full")
		}
		return true, nil
	}}
	s := serve(t, Config{Store: broken, OnAnswer: func(endpoint string, status int, took time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		assert.Positive(t, took)
		answers = append(answers, endpoint+" "+strconv.Itoa(status))
	}})
	for _, name := range []string{"stored", "panic", "full"} {
		s.api(t, "POST", "/v1/events", s.event(name, pageURL, "{}"))
	}
	s.api(t, "POST", "/v1/events", "{}")
	s.api(t, "GET", "/v1/sites", "")
	s.api(t, "GET", "/v1/sites/site_none", "")
	s.api(t, "GET", "/v1/other", "")
	s.api(t, "GET", "/livez", "")
	s.view("192.0.2.1", firefox)
	assert.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(answers) >= 7 }, time.Minute, time.Millisecond)
	slices.Sort(answers)
	assert.Equal(t, "browser 202, events 202, events 400, events 500, events 503, sites 200, sites 404", strings.Join(answers, ", "))
}
