//go:build ci

package report

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cells finds the results of a run.
type cells struct {
	t        *testing.T
	sections []Section
}

func lastRun(t *testing.T) cells {
	t.Helper()
	encoded, err := os.ReadFile("../results.json")
	require.NoError(t, err)
	var r Results
	require.NoError(t, json.Unmarshal(encoded, &r))
	return cells{t, r.Sections}
}

// number returns the cell in the row that begins with name, in the first table of the section
// that has the column.
func (c cells) number(section string, name any, column string) float64 {
	c.t.Helper()
	for _, s := range c.sections {
		for _, table := range s.Tables {
			i := slices.Index(table.Columns, column)
			if s.ID != section || i < 0 {
				continue
			}
			for _, row := range table.Rows {
				if row[0] == name {
					return row[i].(float64)
				}
			}
		}
	}
	require.FailNow(c.t, "not in results.json", "%s: %v: %s", section, name, column)
	return 0
}

func whole(f float64) string { return format(int(math.Round(f))) }

// rounded rounds to thousands.
func rounded(f float64) string { return format(int(math.Round(f/1000)) * 1000) }

// has requires a line.
func has(t *testing.T, text []byte, line string) {
	t.Helper()
	assert.True(t, strings.Contains(string(text), "\n"+line+"\n"), "no such line: %s", line)
}

func TestMiddlewareFiguresOfTheDocumentsAreFromTheLastRun(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/performance.md")
	require.NoError(t, err)
	run := lastRun(t)
	const ns, allocs = "ns over bare", "allocs over bare"
	for called, at := range map[string][3]string{
		"no context value, no rule":                  {"Footfall, wrapper alone", ns, allocs},
		"no context value, rule and event":           {"Footfall, rule and event", ns, allocs},
		"context value, rule and event":              {"Footfall, context value, rule and event", ns, allocs},
		"the same, below another middleware":         {"Footfall, context value, rule and event", "below another: ns", "allocs"},
		"for comparison, making no event: httpsnoop": {"httpsnoop", ns, allocs},
		"sentryhttp": {"sentryhttp", ns, allocs},
		"otelhttp":   {"otelhttp, no provider", ns, allocs},
	} {
		has(t, page, fmt.Sprintf("| %s | %s | %s |", called, whole(run.number("B", at[0], at[1])), whole(run.number("B", at[0], at[2]))))
	}
}

func TestTableOfTheDocumentsIsFromTheLastRun(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/performance.md")
	require.NoError(t, err)
	run := lastRun(t)
	for sdk, called := range map[string]string{
		"Footfall": "Footfall", "Footfall spooled": "Footfall with a spool", "libhoney": "libhoney", "segment": "segment",
		"posthog": "posthog", "rudder": "rudder", "otel log": "OpenTelemetry log", "amplitude": "amplitude", "sentry log": "sentry log",
	} {
		outage := func(column string) float64 { return run.number("G", sdk, column) }
		has(t, page, fmt.Sprintf("| %s | %s / %s | %s | %s, %s, %s | %s MiB |", called,
			whole(run.number("A1", sdk, "ns per event")), whole(run.number("A1", sdk, "allocs per event")), whole(run.number("A2", sdk, "serial ns")),
			whole(outage("delivered")), whole(outage("refused")), whole(outage("lost, number said")+outage("lost, number unsaid")),
			whole(outage("peak RSS (MiB)"))))
	}
}

func TestTableOfLeanIsFromTheLastRun(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../lean/README.md")
	require.NoError(t, err)
	run := lastRun(t)
	for called, at := range map[string]struct{ section, client, allocs string }{
		"lean":                           {"D", "lean", " 0 |"},
		"default transport (net/http)":   {"C", "Footfall", " 51 |"},
		"raw loop of fixed requests, Go": {"D", "raw", " 0 |"},
		"wrk 4.1":                        {"D", "wrk", " |"},
	} {
		figures := func(inFlight float64) string {
			return rounded(run.number(at.section, inFlight, at.client+" events/s")) + ", " + format(run.number(at.section, inFlight, at.client+" CPU µs")) + " µs"
		}
		has(t, readme, fmt.Sprintf("| %s | %s | %s |%s", called, figures(16), figures(64), at.allocs))
	}
}
