package collector

import (
	"math"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestNewReportsEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	_, err := New(t.Context(), Config{
		PublicURL: "stats.example.com", Retention: -1, KeyRate: math.NaN(), KeyBurst: -1, BrowserRate: math.NaN(), BrowserBurst: -1, MaxPending: -1, MaxConnections: -1,
		CommitTimeout: -1, HeaderTimeout: -1, ReadTimeout: -1, WriteTimeout: -1, IdleTimeout: -1, ShutdownTimeout: -1,
	})
	require.Error(t, err)
	for _, field := range []string{
		"Store", "PublicURL", "Retention", "KeyRate", "KeyBurst", "BrowserRate", "BrowserBurst", "MaxPending", "MaxConnections",
		"CommitTimeout", "HeaderTimeout", "ReadTimeout", "WriteTimeout", "IdleTimeout", "ShutdownTimeout",
	} {
		assert.ErrorContains(t, err, "collector: Config."+field+": ")
	}
}

func TestNewFailsIfTheStoreCannotBeRead(t *testing.T) {
	t.Parallel()
	st := storetest.NewReference()
	require.NoError(t, st.Close())
	_, err := New(t.Context(), Config{Store: st})
	assert.ErrorIs(t, err, store.ErrClosed)
}

// The documented defaults must match the code.
func TestDefaultsMatchTheDocumentation(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("config.go")
	require.NoError(t, err)
	text := regexp.MustCompile(`\n\t// `).ReplaceAllString(string(source), " ")
	c := Config{}.withDefaults()
	for field, want := range map[string]string{
		"KeyRate float64": "50,000", "BrowserRate float64": "50", "BrowserBurst int": "500", "MaxPending int": "4,096", "MaxConnections int": "4,000",
		"CommitTimeout time.Duration": "5s", "HeaderTimeout time.Duration": "5s", "ReadTimeout time.Duration": "15s",
		"WriteTimeout time.Duration": "30s", "IdleTimeout time.Duration": "2m", "ShutdownTimeout time.Duration": "10s",
	} {
		assert.Regexp(t, `Defaults to `+want+`\.\n\t`+regexp.QuoteMeta(field), text)
	}
	assert.Equal(t, Config{
		KeyRate: 50_000, KeyBurst: 100_000, BrowserRate: 50, BrowserBurst: 500, MaxPending: 4096, CommitTimeout: 5 * time.Second, MaxConnections: 4000, HeaderTimeout: 5 * time.Second,
		ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, ShutdownTimeout: 10 * time.Second,
		Logger: c.Logger,
	}, c)
	assert.NotNil(t, c.Logger)
}

func TestBurstOfAKeyIsTwoSecondsOfItsRate(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]int{0.1: 1, 3: 6, 1e300: 1 << 30, -1: 1} {
		assert.Equal(t, want, Config{KeyRate: rate}.withDefaults().KeyBurst, rate)
	}
	assert.Equal(t, 7, Config{KeyRate: 3, KeyBurst: 7}.withDefaults().KeyBurst)
}

func TestSetupLinkExistsUntilAPasswordIsSet(t *testing.T) {
	t.Parallel()
	s := prepare(t, Config{PublicURL: "https://stats.example.com/"})
	token := s.Account().SetupToken()
	assert.Equal(t, "https://stats.example.com/setup?token="+token, s.SetupURL())
	require.NoError(t, s.Account().SetUp(t.Context(), token, "correct horse battery"))
	assert.Empty(t, s.SetupURL())
}
