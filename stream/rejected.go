package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/footfall-dev/footfall"
)

// Headers of a rejected event.
const (
	statusHeader  = "Footfall-Status"
	codeHeader    = "Footfall-Code"
	messageHeader = "Footfall-Message"
	idHeader      = "Footfall-Id"
)

// moveRejected moves rejected events to their stream until ctx ends, or last is closed and none
// is left. An event is acknowledged when it is there.
func (r *Relay) moveRejected(ctx context.Context, last <-chan struct{}) {
	failed := false
	for ctx.Err() == nil {
		var again <-chan time.Time
		for it := r.feed.nextRejected(); it != nil; it = r.feed.nextRejected() {
			if err := r.move(ctx, it); err != nil {
				if !failed {
					r.link.log.Warn("stream: rejected events cannot be stored; they stay in the stream", "error", err)
				}
				_ = r.link.ensure(ctx, r.link.cfg.wantedRejected()) // it may be deleted
				failed, again = true, time.After(time.Second)
				r.feed.moves(false)
				break
			}
			failed = false
			r.feed.moves(true)
			r.feed.moved(it)
		}
		ending := last
		if again != nil {
			ending = nil // not before the next attempt
		}
		select {
		case <-r.feed.refused:
		case <-again:
		case <-ctx.Done():
		case <-ending:
			if r.feed.nextRejected() == nil {
				return
			}
		}
	}
}

func (r *Relay) move(ctx context.Context, it *item) error {
	ctx, cancel := context.WithTimeout(ctx, r.link.cfg.Timeout)
	defer cancel()
	m := &nats.Msg{Subject: r.link.cfg.rejectedSubject(), Header: reasons(it.err), Data: it.rec.Body}
	m.Header.Set(idHeader, it.rec.ID.String())
	if meta, err := it.msg.Metadata(); err == nil { // the event may be retried and rejected again
		m.Header.Set(jetstream.MsgIDHeader, it.rec.ID.String()+"."+strconv.FormatUint(meta.Sequence.Stream, 10))
	}
	_, err := r.link.js.PublishMsg(ctx, m)
	return err
}

// reasons returns the headers that say why the API rejected an event.
func reasons(err error) nats.Header {
	h := nats.Header{}
	if api, ok := errors.AsType[*footfall.APIError](err); ok {
		h.Set(statusHeader, strconv.Itoa(api.Status))
		h.Set(codeHeader, oneLine(api.Code))
		h.Set(messageHeader, oneLine(api.Message))
		return h
	}
	if errors.Is(err, errNoID) {
		h.Set(codeHeader, "not_an_event")
	}
	h.Set(messageHeader, oneLine(fmt.Sprint(err)))
	return h
}

// oneLine replaces line breaks, which headers cannot contain.
func oneLine(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' {
			return ' '
		}
		return c
	}, s)
}
