package docs

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	newTracker = regexp.MustCompile(`(?s)\bfunc main\(\).*\b(footfall|spool|stream)\.(New|Open)\(`)
	closing    = regexp.MustCompile(`\btracker\.(Run|RunFunc|Close)\(|\bfootfall\w+\.Run\(`)
)

// A program that ends without Run or Close loses the events in its queue, and readers copy it.
func TestProgramsOfAllREADMEsEndWithRunOrClose(t *testing.T) {
	t.Parallel()
	programs := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		for _, block := range goBlock.FindAllStringSubmatch(readFile(t, path), -1) {
			if newTracker.MatchString(block[1]) {
				programs++
				assert.Regexp(t, closing, block[1], path)
			}
		}
		return nil
	}))
	assert.GreaterOrEqual(t, programs, 11) // of README.md and of ten adapters
}

var completedRule = regexp.MustCompile(`Rule\{[^}]*"checkout_completed"[^}]*\}`)

// Without a Status, a rule also counts checkouts that failed.
func TestRulesForCompletedCheckoutsCountSuccessOnly(t *testing.T) {
	t.Parallel()
	rules := 0
	for _, file := range documents(t) {
		for _, rule := range completedRule.FindAllString(readFile(t, file), -1) {
			rules++
			assert.Contains(t, rule, "Status: footfall.Success", file)
		}
	}
	assert.GreaterOrEqual(t, rules, 3)
}

// The README shows what the shop prints, with other times and another token.
func TestREADMEShowsWhatTheShopPrints(t *testing.T) {
	t.Parallel()
	shop := exec.CommandContext(t.Context(), "go", "run", "./examples/shop", "-history", "1d", "-listen", "127.0.0.1:0", "-collector", "127.0.0.1:0", "-for", "1ms")
	said, err := shop.CombinedOutput()
	require.NoError(t, err, string(said))
	readme := readFile(t, "README.md")
	lines := 0
	for line := range strings.Lines(string(said)) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\n"), "http://")
		if line == "" || strings.HasPrefix(line, "It closes in ") || strings.HasPrefix(line, "delivered ") {
			continue // depends on -for
		}
		if strings.HasPrefix(line, "go: downloading ") {
			continue // the module cache is empty
		}
		lines++
		assert.True(t, strings.Contains(readme, "\n    "+line), "README.md lacks: %s", line)
	}
	assert.GreaterOrEqual(t, lines, 5, string(said))
}

var collectorOption = regexp.MustCompile(`"([a-z-]+)", "FOOTFALL_`)

// A reader finds each option of footfall-collector in the documents of the service.
func TestDocumentsNameEachOptionOfTheCollector(t *testing.T) {
	t.Parallel()
	text := readFile(t, "docs/service.md") + readFile(t, "docs/deploy.md")
	options := collectorOption.FindAllStringSubmatch(readFile(t, "collector/cmd/footfall-collector/options.go"), -1)
	require.Greater(t, len(options), 5)
	for _, option := range options {
		named := regexp.MustCompile("[` ]-" + option[1] + "[` ]").MatchString(text)
		assert.True(t, named, "-%s", option[1])
	}
}
