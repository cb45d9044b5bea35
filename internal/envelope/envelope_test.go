package envelope_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/internal/envelope"
)

func TestAnIDAndABodyAreWhatTheyWere(t *testing.T) {
	t.Parallel()
	const body = `{"name":"paid"}`
	for _, id := range []string{"", "a", "evt_3MqL w", strings.Repeat("~", 255)} {
		packed := append(envelope.Append(nil, id), body...)
		assert.Len(t, packed, envelope.Size([]byte(id))+len(body))
		gotID, gotBody := envelope.Split(packed)
		assert.Equal(t, id, string(gotID))
		assert.Equal(t, body, string(gotBody))
		cloneID, cloneBody := envelope.Clone(gotID, gotBody)
		clear(packed)
		assert.Equal(t, id, string(cloneID))
		assert.Equal(t, body, string(cloneBody))
		assert.Equal(t, id == "", cloneID == nil)
	}
}

func TestIDsThatAHeaderCannotCarryAreWrong(t *testing.T) {
	t.Parallel()
	for id, reason := range map[string]string{
		"":                        "",
		"in_1P a:b/c,\"d\"":       "",
		strings.Repeat("x", 255):  "",
		strings.Repeat("x", 256):  "longer than 255 bytes",
		strings.Repeat("ü", 5000): "longer than 255 bytes",
		"a\r\nX: y":               "a character that is not printable ASCII",
		"a\x00":                   "a character that is not printable ASCII",
		"a\x7f":                   "a character that is not printable ASCII",
		"bestellung_ü":            "a character that is not printable ASCII",
		" a":                      "a space at the beginning or the end",
		"a ":                      "a space at the beginning or the end",
		" ":                       "a space at the beginning or the end",
	} {
		assert.Equal(t, reason, envelope.Check(id), "%q", id)
	}
}

func TestDamagedBytesDoNotPanic(t *testing.T) {
	t.Parallel()
	for _, b := range []string{"", "\x01", "\x01\x05ab", "{", "\x02\x01a{}"} {
		id, body := envelope.Split([]byte(b))
		assert.Empty(t, id)
		assert.Equal(t, b, string(body))
	}
}
