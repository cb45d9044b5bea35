//go:build ci

package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/bench/report"
)

func TestCommandLineSelectsExperiments(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want settings
	}{
		"everything": {nil, settings{[]string{"A1", "A2", "B", "C", "D", "E", "F", "G", "H"}, 5, "."}},
		"quick":      {[]string{"-quick"}, settings{[]string{"A1", "A2", "B", "C"}, 3, ""}},
		"some":       {[]string{"-only", "B,G", "-rounds", "2", "-out", "/tmp"}, settings{[]string{"B", "G"}, 2, "/tmp"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(test.args)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestErrorsOfTheCommandLineNameTheMistake(t *testing.T) {
	_, err := parse([]string{"-only", "A1,Z"})
	assert.EqualError(t, err, `-only: there is no experiment "Z"; there are A1, A2, B, C, D, E, F, G, H`)
	_, err = parse([]string{"-rounds", "-1"})
	assert.ErrorContains(t, err, "-rounds")
	_, err = parse([]string{"A1"})
	assert.EqualError(t, err, `"A1" is not a flag`)
}

func TestAnExperimentThatFailsDoesNotKeepTheOthersFromRunning(t *testing.T) {
	before := experiments
	defer func() { experiments = before }()
	experiments = []experiment{
		{"A1", func(context.Context, report.Options) (report.Section, error) {
			return report.Section{}, errors.New("no luck")
		}},
		{"B", func(context.Context, report.Options) (report.Section, error) { return report.Section{ID: "B"}, nil }},
	}
	results := &report.Results{}
	err := runAll(t.Context(), settings{ids: []string{"A1", "B"}}, results)
	assert.EqualError(t, err, "A1: no luck")
	require.Len(t, results.Sections, 1)
	assert.Equal(t, "B", results.Sections[0].ID)
}
