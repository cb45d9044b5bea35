package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

func TestOptionsChooseRejectedEvents(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	e := at(s, api)
	p, base := relayed(t, e)
	js := connected(t, s.ClientURL())
	for i, row := range []struct{ site, answer string }{{"a", "404 not_found"}, {"b", "404 not_found"}, {"a", "422 validation_failed"}, {"b", "413 too_large"}} {
		var status int
		var code string
		_, err := fmt.Sscan(row.answer, &status, &code)
		require.NoError(t, err)
		api.Always(footfalltest.Body(status, "application/json", fmt.Sprintf(`{"error":%q,"message":"no","status":%d}`, code, status)))
		_, err = js.Publish(t.Context(), "footfall.events", fmt.Appendf(nil, `{"site_id":%q,"name":"lost","url":"https://example.com/","props":{"n":%d}}`, row.site, i), jetstream.WithMsgID(uuid.NewString()))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return scraped(t, base)["footfall_relay_events_total rejected"] == float64(i+1) }, patience, time.Millisecond)
	}
	assert.Equal(t, 0, p.stop().status)
	seqs := func(args ...string) (list []uint64) {
		got := run(t, e, append([]string{"rejected", "list", "-json"}, args...)...)
		require.Equal(t, 0, got.status, "%+v", got)
		var all []rejectedEvent
		require.NoError(t, json.Unmarshal([]byte(got.out), &all))
		for _, one := range all {
			list = append(list, one.Seq)
		}
		return list
	}
	assert.Equal(t, []uint64{1, 2, 3, 4}, seqs())
	assert.Equal(t, []uint64{1, 3}, seqs("-site", "a"))
	assert.Equal(t, []uint64{1, 2}, seqs("-code", "not_found"))
	assert.Equal(t, []uint64{4}, seqs("-code", "413"))
	assert.Equal(t, []uint64{2}, seqs("-code", "404", "-site", "b"))
	assert.Equal(t, []uint64{1, 2, 3}, seqs("-limit", "3"))
	assert.Equal(t, []uint64{3}, seqs("-limit", "1", "-code", "422"), "of those that match")
	assert.Equal(t, []uint64{1, 2, 3, 4}, seqs("-since", "1h"))
	assert.Empty(t, seqs("-since", "1ns"))
	assert.Empty(t, seqs("-site", "c"))

	got := run(t, e, "rejected", "show", "3")
	assert.Regexp(t, `(?s)^SEQ      3\nID       [-0-9a-f]{36}\nTIME     \d{4}-.*\nSTATUS   422\nCODE     validation_failed\nMESSAGE  no\n\{\n  "site_id": "a",.*"n": 2\n  \}\n\}\n$`, got.out)
	got = run(t, e, "rejected", "show", "99")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "there is no rejected event 99")

	for _, command := range [][]string{{"retry", "-site", "c"}, {"purge", "-yes", "-site", "c"}} {
		got = run(t, e, append([]string{"rejected"}, command...)...)
		assert.Equal(t, 0, got.status)
		assert.Regexp(t, "^0 ", got.out, "not all of them")
	}
	got = run(t, e, "rejected", "retry", "-site", "a", "-limit", "1")
	assert.Equal(t, "1 moved back to the stream; relays send them again\n", got.out)
	assert.Equal(t, []uint64{2, 3, 4}, seqs())
	got = run(t, e, "rejected", "purge", "-yes", "-code", "too_large")
	assert.Equal(t, "1 removed for good\n", got.out)
	assert.Equal(t, []uint64{2, 3}, seqs())
}
