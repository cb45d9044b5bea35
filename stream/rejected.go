package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
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
	for failed := false; ctx.Err() == nil; {
		var again <-chan time.Time
		refused, ending := r.feed.refused, last
		first := moveAtOnce
		if failed {
			first = 1 // the others can be returned meanwhile
		}
		err := r.moveAll(ctx, first)
		if err != nil {
			if !failed {
				r.link.log.Warn("stream: rejected events cannot be stored; they stay in the stream", "error", err)
			}
			_ = r.link.ensureRejected(ctx) // it may be deleted
			again, refused, ending = time.After(time.Second), nil, nil
		}
		failed = err != nil
		select {
		case <-refused:
		case <-again:
		case <-ctx.Done():
		case <-ending:
			if r.feed.noneRejected() {
				return
			}
		}
	}
}

// moveAtOnce is how many rejected events a relay publishes at once.
const moveAtOnce = 64

// moveAll moves rejected events, first of them before the others, until none is left or one cannot
// be moved.
func (r *Relay) moveAll(ctx context.Context, first int) error {
	for items := r.feed.takeRejected(first); len(items) > 0; items = r.feed.takeRejected(moveAtOnce) {
		errs := make([]error, len(items))
		var moving sync.WaitGroup
		for i, it := range items {
			moving.Go(func() { errs[i] = r.move(ctx, it) })
		}
		moving.Wait()
		var failure error
		var left []*item
		for i, it := range items {
			if errs[i] == nil {
				r.feed.moved(it)
				continue
			}
			failure, left = errs[i], append(left, it)
			r.sayTooLarge(it, errs[i])
		}
		if len(left) < len(items) {
			r.sayRejected()
		}
		if failure != nil {
			r.feed.notMoved(left)
			return failure
		}
	}
	return nil
}

// sayRejected logs once that there are rejected events, and where.
func (r *Relay) sayRejected() {
	if !r.saidRejected.Swap(true) {
		r.link.log.Warn("stream: the API rejects events; they move to a stream of their own, which a command lists", "stream", r.link.cfg.rejectedName(), "command", r.link.listCommand())
	}
}

// listCommand returns the command that lists the rejected events.
func (l *link) listCommand() string {
	urls := l.cfg.URL
	if l.cfg.Conn != nil {
		urls = strings.Join(l.nc.Servers(), ",")
	}
	command := "footfall rejected list -nats " + withoutUsers(urls)
	if l.cfg.Name != defaultName {
		command += " -stream " + l.cfg.Name
	}
	if l.cfg.Subject != defaultSubject {
		command += " -subject " + l.cfg.Subject
	}
	return command
}

// move publishes an event to the stream of rejected events. A message of NATS has a largest size,
// headers included, and the event had fewer of them before: move leaves out what does not fit.
func (r *Relay) move(ctx context.Context, it *item) (err error) {
	ctx, cancel := context.WithTimeout(ctx, r.link.cfg.Timeout)
	defer cancel()
	for _, h := range headers(it) {
		m := &nats.Msg{Subject: r.link.cfg.rejectedSubject(), Header: h, Data: it.rec.Body}
		if _, err = r.link.js.PublishMsg(ctx, m); !errors.Is(err, nats.ErrMaxPayload) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("event %s: %w", it.rec.IdempotencyKey(), err)
	}
	return nil
}

// headers returns the headers of a rejected event, and ever smaller versions of them. The last version is
// no larger than the headers of the event in the stream of events.
func headers(it *item) []nats.Header {
	id, key := it.rec.ID.String(), string(it.rec.Key)
	all := withKey(reasons(it.err), key)
	all.Set(idHeader, id)
	// The event may be retried and rejected again.
	all.Set(jetstream.MsgIDHeader, numbered(id, it.at))
	short := maps.Clone(all)
	short.Del(messageHeader)
	list := []nats.Header{all, short, withKey(nats.Header{idHeader: {id}}, key)}
	if errors.Is(it.err, errNoID) {
		list = append(list, nil)
	}
	return list
}

// numbered returns the Nats-Msg-Id of an event that moves from one stream to the other. It contains the
// time at which the message was stored, not its number: if the stream was created again, another message may
// have the same number, and NATS would drop the second one.
func numbered(id string, at time.Time) string {
	return id + "." + strconv.FormatInt(at.UnixNano(), 10)
}

// sayTooLarge logs once that an event stays in the stream because of its size.
func (r *Relay) sayTooLarge(it *item, err error) {
	api, _ := errors.AsType[*jetstream.APIError](err)
	if it.named || !errors.Is(err, nats.ErrMaxPayload) && (api == nil || api.ErrorCode != tooLarge) {
		return
	}
	it.named = true
	r.link.log.Warn("stream: a rejected event is larger than NATS accepts; it stays in the stream: raise max_payload of the servers or the max message size of the stream of rejected events",
		"event", it.rec.IdempotencyKey(), "bytes", len(it.rec.Body), "stream", r.link.cfg.rejectedName(), "error", err)
}

// tooLarge is the code of JetStream for a message above the max message size of its stream.
const tooLarge = 10054

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
