package footfall_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

const redactedLine = "a value was redacted; add the key to Config.AllowPIIKeys if it is no personal data"

// redacting runs test with a tracker whose log it can read.
func redacting(t *testing.T, test func(tracker *footfall.Tracker, log *journal), change ...func(*footfall.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log journal
		tracker := start(t, newFakeNet(), append(change, log.into)...)
		test(tracker, &log)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestARedactedValueLeavesALineAnHour(t *testing.T) {
	redacting(t, func(tracker *footfall.Tracker, log *journal) {
		ctx := context.Background()
		for range 3 {
			require.NoError(t, tracker.Track(ctx, "app_started", footfall.P("n", 1), footfall.P("version", "1.2.3.4")))
			synctest.Wait()
		}
		assert.Equal(t, 1, strings.Count(log.String(), redactedLine), log.String())
		assert.Contains(t, log.String(), `key=version event=app_started`)
		assert.NotContains(t, log.String(), "1.2.3.4")

		require.NoError(t, tracker.Track(ctx, "paid", footfall.P("card", int64(4111111111111111)), footfall.P("version", "1.2.3.4")))
		time.Sleep(time.Minute)
		synctest.Wait() // the line is due at this instant
		assert.Equal(t, 2, strings.Count(log.String(), redactedLine), "another key has its own line: %s", log.String())
		assert.Contains(t, log.String(), `key=card event=paid`)
		assert.NotContains(t, log.String(), "4111")

		time.Sleep(time.Hour)
		require.NoError(t, tracker.Track(ctx, "app_started", footfall.P("version", "1.2.3.4")))
		synctest.Wait()
		assert.Equal(t, 3, strings.Count(log.String(), redactedLine), "an hour later")
	})
}

func TestNothingRedactedLeavesNoLine(t *testing.T) {
	for name, change := range map[string]func(*footfall.Config){
		"exempt": func(c *footfall.Config) { c.AllowPIIKeys = []string{"version"} },
		"off":    func(c *footfall.Config) { c.AllowPII = true },
	} {
		t.Run(name, func(t *testing.T) {
			redacting(t, func(tracker *footfall.Tracker, log *journal) {
				require.NoError(t, tracker.Track(context.Background(), "x", footfall.P("version", "1.2.3.4")))
				time.Sleep(time.Minute)
				assert.NotContains(t, log.String(), "redacted")
			}, change)
		})
	}
	redacting(t, func(tracker *footfall.Tracker, log *journal) {
		require.NoError(t, tracker.Track(context.Background(), "x", footfall.P("a", "joe@example.com"), footfall.P("a", "b")))
		time.Sleep(time.Minute)
		assert.NotContains(t, log.String(), "redacted", "only the last of a key is sent")
	})
}

func TestLinesAboutRedactedValuesAreBounded(t *testing.T) {
	redacting(t, func(tracker *footfall.Tracker, log *journal) {
		for i := range 1000 {
			require.NoError(t, tracker.Track(context.Background(), "x", footfall.P(fmt.Sprint("key", i), "joe@example.com")))
		}
		time.Sleep(2 * time.Minute)
		assert.Equal(t, 100, strings.Count(log.String(), redactedLine))
		assert.Equal(t, 1, strings.Count(log.String(), "values of many more props were redacted"))

		time.Sleep(time.Hour)
		require.NoError(t, tracker.Track(context.Background(), "x", footfall.P("another", "joe@example.com")))
		time.Sleep(time.Minute)
		assert.Contains(t, log.String(), "key=another", "the others' hour is over")
	})
}

func TestALongKeyIsCutInTheLog(t *testing.T) {
	redacting(t, func(tracker *footfall.Tracker, log *journal) {
		long := strings.Repeat("k", 1000)
		require.NoError(t, tracker.Track(context.Background(), long, footfall.P(long, "joe@example.com")))
		time.Sleep(time.Minute)
		assert.Contains(t, log.String(), "key="+long[:100]+" event="+long[:100]+"\n")
	}, func(c *footfall.Config) { c.Limits.Name, c.Limits.PropKey = 1000, 1000 })
}

func TestARedactedPageLeavesALineOfLevelInfo(t *testing.T) {
	var log journal
	mux := http.NewServeMux()
	mux.HandleFunc("GET /user/{name}", func(http.ResponseWriter, *http.Request) {})
	site := setup{config: log.into, rules: []footfall.Rule{{Route: "GET /user/{name}", Event: "user_viewed"}}}.open(t, mux)
	for range 3 {
		site.get(t, "/user/joe@example.com")
	}
	site.events()
	assert.Eventually(t, func() bool { return strings.Contains(log.String(), "event=user_viewed") }, 10*time.Second, time.Millisecond)
	assert.Equal(t, 1, log.Lines(slog.LevelInfo), log.String())
	assert.NotContains(t, log.String(), "joe@example.com")
}
