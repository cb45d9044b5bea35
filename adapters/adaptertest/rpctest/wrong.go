package rpctest

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// WrongRulesAreLogged holds an adapter, which add gives the rules, to logging those that are wrong.
func WrongRulesAreLogged(t *testing.T, add func(*footfall.Tracker, ...footfall.Rule)) {
	t.Helper()
	var log bytes.Buffer
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	add(tracker.Tracker, footfall.Rule{Route: "nowhere"}, footfall.Rule{})
	assert.Contains(t, log.String(), "nowhere")
	assert.Contains(t, log.String(), "empty")
}
