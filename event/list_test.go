package event_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/event"
)

type listed struct {
	shared
	Text  planName `prop:"<text>"`
	Price *float64 `prop:"price"`
	Flag  bool     `prop:"flag"`
}

var _ = event.Define[listed]("listed_last")

func TestWriteJSONWritesTheListOfDefinitions(t *testing.T) {
	t.Parallel()
	later := unique("added_later")
	_ = event.Define[struct{}](later)
	var text bytes.Buffer
	require.NoError(t, event.WriteJSON(&text))
	assert.Contains(t, text.String(), `
  {
    "name": "listed_last",
    "type": "event_test.listed",
    "props": [
      {
        "key": "tenant",
        "type": "string",
        "field": "shared.Tenant"
      },
      {
        "key": "seats",
        "type": "number",
        "field": "shared.Seats",
        "optional": true
      },
      {
        "key": "<text>",
        "type": "string",
        "field": "Text"
      },
      {
        "key": "price",
        "type": "number",
        "field": "Price",
        "optional": true
      }
    ],
    "mistakes": [
      "Define[event_test.listed].Flag: a bool is neither a string nor a number, nor a pointer to one"
    ]
  }`)
	assert.Contains(t, text.String(), later+"\",\n    \"type\": \"struct\",\n    \"props\": []\n", "an array, not null")
	assert.True(t, strings.HasSuffix(text.String(), "\n]\n"))
	var all []event.Info
	require.NoError(t, json.Unmarshal(text.Bytes(), &all))
	assert.True(t, slices.IsSortedFunc(all, func(a, b event.Info) int { return strings.Compare(a.Name, b.Name) }))
	assert.NotEmpty(t, all)
}

func TestAllReturnsACopy(t *testing.T) {
	t.Parallel()
	of := func() *event.Info {
		for _, d := range event.All() {
			if d.Name == "listed_last" {
				return &d
			}
		}
		return nil
	}
	first := of()
	first.Props[0].Key, first.Mistakes[0] = "changed", "changed"
	assert.Equal(t, "tenant", of().Props[0].Key)
	assert.NotEqual(t, "changed", of().Mistakes[0])
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteJSONReturnsTheErrorOfTheWriter(t *testing.T) {
	t.Parallel()
	assert.EqualError(t, event.WriteJSON(brokenWriter{}), "event: disk full")
}
