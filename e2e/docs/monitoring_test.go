package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	alerts    = "docs/monitoring/alerts.yml"
	dashboard = "docs/monitoring/grafana.json"
)

// metrics returns the metrics that trackers, relays and the collector have. Tests of these compare them
// with the documents.
func metrics(t *testing.T) map[string]bool {
	t.Helper()
	known := make(map[string]bool)
	for _, file := range []string{"docs/tools.md", "docs/deploy.md", "examples/metrics/collector.go"} {
		for _, name := range regexp.MustCompile("[`\"](footfall_[a-z_]+)").FindAllStringSubmatch(text(t, file), -1) {
			known[name[1]] = true
		}
	}
	return known
}

func text(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(data)
}

// assertKnown asserts that a query uses metrics, and that they exist.
func assertKnown(t *testing.T, known map[string]bool, query string) {
	t.Helper()
	names := regexp.MustCompile(`footfall_[a-z_]+`).FindAllString(query, -1)
	assert.NotEmpty(t, names, query)
	for _, name := range names {
		name = regexp.MustCompile(`_seconds_(bucket|count)$`).ReplaceAllString(name, "_seconds")
		assert.True(t, known[name], "%s in %s", name, query)
	}
}

func TestAlertsUseMetricsThatExist(t *testing.T) {
	t.Parallel()
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	file, err := os.Open(alerts)
	require.NoError(t, err)
	defer file.Close()
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&rules))
	require.Len(t, rules.Groups, 3)
	known, seen := metrics(t), make(map[string]bool)
	for _, g := range rules.Groups {
		assert.NotEmpty(t, g.Rules, g.Name)
		for _, r := range g.Rules {
			assertKnown(t, known, r.Expr)
			assert.False(t, seen[r.Alert], "%s is there twice", r.Alert)
			seen[r.Alert] = true
			assert.Contains(t, []string{"page", "ticket"}, r.Labels["severity"], r.Alert)
			assert.NotEmpty(t, r.Annotations["summary"], r.Alert)
			assert.NotEmpty(t, r.Annotations["description"], r.Alert)
		}
	}
}

// The package prometheus of Debian has promtool.
func TestPromtoolTakesTheAlerts(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	for _, args := range [][]string{{"check", "rules", alerts}, {"test", "rules", "docs/monitoring/alerts_test.yml"}} {
		out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		assert.NoError(t, err, "%s", out)
	}
}

func TestTheDashboardUsesMetricsThatExist(t *testing.T) {
	t.Parallel()
	var d struct {
		Title  string
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text(t, dashboard)), &d))
	known, ids := metrics(t), make(map[int]bool)
	for _, p := range d.Panels {
		assert.False(t, ids[p.ID], p.Title)
		ids[p.ID] = true
		assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		assert.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
		for _, target := range p.Targets {
			assertKnown(t, known, target.Expr)
			assert.NotEmpty(t, target.LegendFormat, p.Title)
		}
	}
	assert.Greater(t, len(ids), 15)
}
