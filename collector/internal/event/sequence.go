package event

import (
	"fmt"
	"strconv"
	"strings"
)

// Sequence is the place of an event among the events of the page that sent it. It is not stored.
type Sequence struct {
	Page   string // random; empty if the event has no sequence
	Number uint32
}

// maxSequence bounds the text of a sequence, in bytes.
const maxSequence = 40

// parse reads a page and a number, with a dot between them.
func (s *Sequence) parse(text string) (reason string) {
	page, number, _ := strings.Cut(text, ".")
	n, err := strconv.ParseUint(number, 10, 32)
	if len(text) > maxSequence || page == "" || err != nil {
		return fmt.Sprintf("is not a page and a number, such as 4fz.1, of at most %d bytes", maxSequence)
	}
	*s = Sequence{page, uint32(n)}
	return ""
}
