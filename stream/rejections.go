package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Rejected is an event that the API rejected.
type Rejected struct {
	Seq     uint64    // its position among the rejected events, for Retry and Purge
	ID      string    // of the event, its Idempotency-Key
	Time    time.Time // when it was rejected
	Status  int       // of the API's answer; 0 if a message of the stream was no event
	Code    string    // of the API's answer; may be empty
	Message string
	Body    []byte // JSON, as it was sent
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
	cfg = cfg.withDefaults(nil)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	link, err := dial(cfg, "footfall rejections", 0)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	s, err := link.js.Stream(ctx, cfg.rejectedName())
	if err != nil {
		switch {
		case !link.nc.IsConnected():
			err = fmt.Errorf("%w: %w", link.away(), err)
		case link.forbidden(): // NATS answers nothing else
			err = link.nc.LastError()
		}
		link.close()
		return nil, fmt.Errorf("stream: NATS stream %q: %w", cfg.rejectedName(), err)
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
		return nil, fmt.Errorf("stream: rejected event %d: %w", seq, err)
	}
	return m, nil
}

func rejectedOf(m *jetstream.RawStreamMsg) Rejected {
	status, _ := strconv.Atoi(m.Header.Get(statusHeader)) // 0 if there is none
	return Rejected{
		Seq:     m.Sequence,
		ID:      m.Header.Get(idHeader),
		Time:    m.Time,
		Status:  status,
		Code:    m.Header.Get(codeHeader),
		Message: m.Header.Get(messageHeader),
		Body:    m.Data,
	}
}

// Retry moves rejected events back to the stream, and a relay sends them again with their ids.
// Without seqs it moves all that were rejected before the call. It returns how many it has
// moved. After an error it may be called again: an event that is in both streams is moved once.
func (r *Rejections) Retry(ctx context.Context, seqs ...uint64) (n int, err error) {
	return r.each(ctx, seqs, func(e Rejected) error {
		m := &nats.Msg{Subject: r.link.cfg.Subject, Header: nats.Header{}, Data: e.Body}
		m.Header.Set(jetstream.MsgIDHeader, e.ID+"."+strconv.FormatUint(e.Seq, 10))
		if _, err := r.link.js.PublishMsg(ctx, m); err != nil {
			return fmt.Errorf("stream: rejected event %d: %w", e.Seq, err)
		}
		return r.remove(ctx, e)
	})
}

// Purge removes rejected events for good. Without seqs it removes all that were rejected before
// the call. It returns how many it has removed.
func (r *Rejections) Purge(ctx context.Context, seqs ...uint64) (n int, err error) {
	return r.each(ctx, seqs, func(e Rejected) error { return r.remove(ctx, e) })
}

func (r *Rejections) remove(ctx context.Context, e Rejected) error {
	if err := r.s.DeleteMsg(ctx, e.Seq); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("stream: rejected event %d: %w", e.Seq, err)
	}
	return nil
}

// each calls f for the events with the given positions, or for all, and counts them.
func (r *Rejections) each(ctx context.Context, seqs []uint64, f func(Rejected) error) (n int, err error) {
	if len(seqs) == 0 {
		if seqs, err = r.all(ctx); err != nil {
			return 0, err
		}
	}
	for _, seq := range seqs {
		m, err := r.get(ctx, seq)
		if err == nil {
			err = f(rejectedOf(m))
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// all returns the positions of all events.
func (r *Rejections) all(ctx context.Context) ([]uint64, error) {
	var seqs []uint64
	for e, err := range r.All(ctx) {
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, e.Seq)
	}
	return seqs, nil
}
