package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
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
	assert.GreaterOrEqual(t, programs, 10) // of README.md and of nine adapters
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
