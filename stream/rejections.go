package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// Rejected is an event that the API rejected.
type Rejected struct {
	Seq     uint64    // its position among the rejected events, for Retry and Purge
	ID      string    // of the event, its Idempotency-Key
	Time    time.Time // when it was rejected
	Status  int       // of the API's answer; 0 if a message of the stream was no event, or if NATS accepts no larger message
	Code    string    // of the API's answer; may be empty
	Message string
	Body    []byte // JSON, as it was sent

	record string // Nats-Msg-Id of the event in the stream of events
	key    string // footfall.Event.ID, or ""
}

// Rejections reads the stream of rejected events. Its methods may be called from several
// goroutines at once.
type Rejections struct {
	link *link
	s    jetstream.Stream
}

// OpenRejections connects to NATS and to the stream of rejected events, which the first relay
// creates. The error matches jetstream.ErrStreamNotFound if there is none.
func OpenRejections(ctx context.Context, cfg Config) (*Rejections, error) {
	link, err := open(cfg, "footfall rejections")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, link.cfg.Timeout)
	defer cancel()
	s, err := link.js.Stream(ctx, link.cfg.rejectedName())
	if err != nil {
		defer link.close()
		return nil, link.refused(streamInfo, link.cfg.rejectedName(), err)
	}
	return &Rejections{link, s}, nil
}

// Close closes the connection.
func (r *Rejections) Close() { r.link.close() }

// All yields the rejected events, oldest first. It ends with an error if NATS cannot be used.
func (r *Rejections) All(ctx context.Context) iter.Seq2[Rejected, error] {
	return func(yield func(Rejected, error) bool) {
		for seq := uint64(1); ; {
			m, err := r.get(ctx, seq, jetstream.WithGetMsgSubject(r.link.cfg.rejectedSubject()))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return
			}
			if err != nil {
				yield(Rejected{}, err)
				return
			}
			if !yield(rejectedOf(m), nil) {
				return
			}
			seq = m.Sequence + 1
		}
	}
}

// get reads a message. A context without a deadline gets one.
func (r *Rejections) get(ctx context.Context, seq uint64, options ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, r.link.cfg.Timeout)
	defer cancel()
	m, err := r.s.GetMsg(ctx, seq, options...)
	if err != nil {
		return nil, fmt.Errorf("stream: rejected event %d: %w", seq, r.reason(messageGet, err))
	}
	return m, nil
}

// reason returns why a request about the stream of rejected events failed.
func (r *Rejections) reason(request string, err error) error {
	return r.link.reason(err, request+r.link.cfg.rejectedName())
}

func rejectedOf(m *jetstream.RawStreamMsg) Rejected {
	status, _ := strconv.Atoi(m.Header.Get(statusHeader)) // 0 if there is none
	record, key := m.Header.Get(idHeader), string(keyOf(m.Header))
	return Rejected{
		Seq:     m.Sequence,
		ID:      cmp.Or(key, record),
		Time:    m.Time,
		Status:  status,
		Code:    m.Header.Get(codeHeader),
		Message: m.Header.Get(messageHeader),
		Body:    m.Data,
		record:  record,
		key:     key,
	}
}

// Retry moves rejected events back to the stream, and a relay sends them again with their ids.
// Without seqs it moves all that were rejected before the call. It returns how many it has
// moved. Positions without an event are skipped, and the error matches jetstream.ErrMsgNotFound.
// After an error Retry may be called again, and several calls may run at once: an event that is in
// both streams is moved once, and counted by one call.
func (r *Rejections) Retry(ctx context.Context, seqs ...uint64) (n int, err error) {
	events := r.at(ctx, seqs)
	if len(seqs) == 0 {
		info, err := r.info(ctx)
		if err != nil {
			return 0, err
		}
		events = r.upTo(ctx, info.State.LastSeq)
	}
	return r.each(ctx, events, func(ctx context.Context, e Rejected) (bool, error) {
		if err := r.publish(ctx, e); err != nil {
			return false, fmt.Errorf("stream: rejected event %d: %w", e.Seq, r.link.reason(err, r.link.cfg.Subject))
		}
		return r.remove(ctx, e)
	})
}

// publish puts an event into the stream, unless another call to Retry has done so.
func (r *Rejections) publish(ctx context.Context, e Rejected) error {
	ctx, cancel := context.WithTimeout(ctx, r.link.cfg.Timeout)
	defer cancel()
	m := &nats.Msg{Subject: r.link.cfg.Subject, Header: withKey(nats.Header{}, e.key), Data: e.Body}
	m.Header.Set(jetstream.MsgIDHeader, numbered(e.record, e.Time))
	for {
		_, err := r.link.js.PublishMsg(ctx, m)
		if errors.Is(err, nats.ErrMaxPayload) && m.Header.Get(idHeader) == "" { // without a number it is as large as it was
			m.Header = withKey(nats.Header{idHeader: {e.record}}, e.key)
			continue
		}
		if api, ok := errors.AsType[*jetstream.APIError](err); !ok || api.ErrorCode != inProcess {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// inProcess is the code of JetStream for a message whose id is the one of a message that is not
// replicated yet.
const inProcess = 10158

// Purge removes rejected events for good. Without seqs it removes all that were rejected before
// the call. It returns how many it has removed. Positions without an event are skipped as by
// [Rejections.Retry].
func (r *Rejections) Purge(ctx context.Context, seqs ...uint64) (n int, err error) {
	if len(seqs) > 0 {
		return r.each(ctx, r.at(ctx, seqs), r.remove)
	}
	info, err := r.info(ctx)
	if err != nil {
		return 0, err
	}
	if err := r.s.Purge(ctx, jetstream.WithPurgeSequence(info.State.LastSeq+1)); err != nil {
		return 0, fmt.Errorf("stream: rejected events: %w", r.reason(streamPurge, err))
	}
	return int(info.State.Msgs), nil
}

func (r *Rejections) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, r.link.cfg.Timeout)
	defer cancel()
	info, err := r.s.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("stream: rejected events: %w", r.reason(streamInfo, err))
	}
	return info, nil
}

// remove removes an event, and reports whether no other call has removed it.
func (r *Rejections) remove(ctx context.Context, e Rejected) (bool, error) {
	err := r.s.DeleteMsg(ctx, e.Seq)
	if err == nil {
		return true, nil
	}
	if _, gone := r.get(ctx, e.Seq); errors.Is(gone, jetstream.ErrMsgNotFound) {
		return false, nil // NATS has several errors for it
	}
	return false, fmt.Errorf("stream: rejected event %d: %w", e.Seq, r.reason(messageDelete, err))
}

// at yields the rejected events at the given positions, and an error for each that has none.
func (r *Rejections) at(ctx context.Context, seqs []uint64) iter.Seq2[Rejected, error] {
	return func(yield func(Rejected, error) bool) {
		for _, seq := range slices.Compact(slices.Sorted(slices.Values(seqs))) { // one may be there twice
			m, err := r.get(ctx, seq)
			switch {
			case err == nil:
				if !yield(rejectedOf(m), nil) {
					return
				}
			case !yield(Rejected{}, err) || !errors.Is(err, jetstream.ErrMsgNotFound):
				return
			}
		}
	}
}

// upTo yields the rejected events up to the given position.
func (r *Rejections) upTo(ctx context.Context, last uint64) iter.Seq2[Rejected, error] {
	return func(yield func(Rejected, error) bool) {
		for e, err := range r.All(ctx) {
			if e.Seq > last || !yield(e, err) {
				return
			}
		}
	}
}

// each calls f for events, for several at once, and counts those for which f returns true. The error
// is the first one, after which no other event is begun, or about positions without an event.
func (r *Rejections) each(ctx context.Context, events iter.Seq2[Rejected, error], f func(context.Context, Rejected) (bool, error)) (int, error) {
	var done atomic.Int64
	var missing []error
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(moveAtOnce)
	for e, err := range events {
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			missing = append(missing, err)
			continue
		}
		if err = cmp.Or(err, running.Err()); err != nil {
			group.Go(func() error { return err })
			break
		}
		group.Go(func() error {
			counts, err := f(ctx, e)
			if counts {
				done.Add(1)
			}
			return err
		})
	}
	err := group.Wait()
	switch {
	case err != nil || len(missing) == 0:
	case len(missing) == 1:
		err = missing[0]
	default:
		err = fmt.Errorf("%w, and %d more are missing", missing[0], len(missing)-1)
	}
	return int(done.Load()), err
}
