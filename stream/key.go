package stream

import (
	"github.com/nats-io/nats.go"

	"github.com/footfall-dev/footfall/internal/envelope"
)

// keyHeader is the header of a message that has the Event.ID of its event, if the application has set one. NATS
// drops a message whose Nats-Msg-Id it has seen, so that header is the id of the record: two events with
// one Event.ID are two messages.
const keyHeader = "Footfall-Key"

// withKey adds the Event.ID of an event to h.
func withKey(h nats.Header, key string) nats.Header {
	if key != "" {
		h.Set(keyHeader, key)
	}
	return h
}

// keyOf returns the Event.ID of an event, or nil. A message may be of another program.
func keyOf(h nats.Header) []byte {
	key := h.Get(keyHeader)
	if key == "" || envelope.Check(key) != "" {
		return nil
	}
	return []byte(key)
}
