package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/footfall-dev/footfall/internal/retry"
)

// fetchWait is the longest time of one request for messages. Run waits for the end of the last
// one, so that no message is lost on the way until AckWait returns it.
const fetchWait = time.Second

// consumer is where a relay fetches messages from. The goroutine of fetch owns it.
type consumer struct {
	jetstream.Consumer
	from      origin
	confirmed time.Time // when NATS last confirmed that acknowledgements arrive
}

// fetch fetches messages while there is room, until ctx ends or the relay cannot work any more.
func (r *Relay) fetch(ctx context.Context) error {
	wait := retry.Backoff{Base: 100 * time.Millisecond, Max: 5 * time.Second}
	var from *consumer
	for failures := 0; ctx.Err() == nil; {
		var err error
		if from == nil {
			if from, err = r.consumer(ctx); err == nil {
				err = r.mayAcknowledge(ctx)
			}
		} else if from.from.born != r.link.origin().born {
			err = errOtherStream
		}
		if err == nil {
			r.trouble.Store(nil)
			err = r.fetchSome(ctx, from)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			r.logFetch(&failures, nil)
			continue
		}
		if isMistake(err) || isDenied(err) {
			return err
		}
		from = nil // it may be deleted
		r.link.checked.Store(false)
		r.link.failed(err)
		r.logFetch(&failures, err)
		select {
		case <-time.After(wait.Delay(min(failures, 10))):
		case <-ctx.Done():
		}
	}
	return nil
}

// errOtherStream is the error of a consumer whose stream was deleted.
var errOtherStream = errors.New("stream: the NATS stream was deleted")

// logFetch logs the first of several failures in a row, and their end.
func (r *Relay) logFetch(failures *int, err error) {
	switch {
	case err == nil && *failures > 0:
		r.link.log.Info("stream: the relay takes events again")
	case err != nil && *failures == 1:
		r.link.log.Warn("stream: the relay cannot take events; it tries again", "error", err)
	}
	*failures++
	if err == nil {
		*failures = 0
		return
	}
	r.trouble.Store(&err)
}

// fetchSome makes one request for as many messages as there is room for.
func (r *Relay) fetchSome(ctx context.Context, from *consumer) error {
	limit := r.cfg.MaxHeld
	if r.limit != nil { // messages wait for the limit without being extended
		limit = max(1, min(limit, int(r.cfg.Rate*r.cfg.AckWait.Seconds()/4)))
	}
	least := max(1, min(256, r.cfg.MaxHeld/4, limit))
	n := min(r.fetchable(ctx, least), limit)
	if n == 0 {
		select {
		case <-r.feed.changed:
		case <-time.After(fetchWait): // a message may have failed
		case <-ctx.Done():
		}
		return nil
	}
	if !r.link.nc.IsConnected() {
		return r.link.away()
	}
	from.from.connection = r.link.origin().connection
	began := time.Now()
	batch, err := from.Fetch(n, jetstream.FetchMaxWait(fetchWait))
	if err != nil {
		return err
	}
	some, err := r.receive(ctx, from, batch.Messages())
	if err = cmp.Or(err, batch.Error()); err != nil {
		return err
	}
	if !some && time.Since(began) > fetchWait+fetchWait/2 {
		if denied := r.link.denied(r.subject(consumerNext)); denied != nil {
			return r.about(denied)
		}
		return errSilent
	}
	r.link.worked()
	return nil
}

// fetchable returns how many messages to fetch now, or 0. If there is little room, and none of the
// messages that the relay holds can be sent, others in the stream may be accepted, so fetchable makes
// room for them: while the API accepts nothing, only if there are others, because the same are probably not accepted either.
func (r *Relay) fetchable(ctx context.Context, least int) int {
	free, stuck := r.feed.room()
	switch out := r.isOut(); {
	case free >= least:
		return free
	case !stuck, out && !r.seesOthers(ctx):
		return 0
	default:
		return r.feed.makeRoom(least, out)
	}
}

// errSilent is the error of a server that does not even say that there are no messages. Fetch
// waits a second longer for it than fetchWait.
var errSilent = errors.New("stream: NATS does not answer the request for messages")

// receive passes messages to the feed as they arrive, those that have arrived together at once. It
// reports whether there were any. If NATS does not confirm that acknowledgements arrive, receive
// returns the messages to the stream, and an error.
func (r *Relay) receive(ctx context.Context, from *consumer, messages <-chan jetstream.Msg) (received bool, err error) {
	var some, unconfirmed []jetstream.Msg
	for m := range messages {
		received = true
		some = r.arrived(append(some[:0], m), messages)
		if err == nil {
			err = r.confirm(ctx, from, m)
		}
		if err != nil {
			unconfirmed = append(unconfirmed, some...)
			continue
		}
		if r.limit != nil {
			_ = r.limit.Wait(ctx) // when ctx ends, the feed returns the message to the stream
		}
		r.feed.put(some, from.from)
	}
	if errors.Is(err, ErrAckDenied) {
		return received, err // the relay may not return them either
	}
	for _, m := range unconfirmed {
		_ = m.Nak() // otherwise AckWait returns it
	}
	return received, err
}

// arrived adds the messages that have arrived to some. With a limit it adds none, because each of
// them waits for the limit.
func (r *Relay) arrived(some []jetstream.Msg, messages <-chan jetstream.Msg) []jetstream.Msg {
	for r.limit == nil {
		select {
		case m, ok := <-messages:
			if !ok {
				return some
			}
			some = append(some, m)
		default:
			return some
		}
	}
	return some
}

// confirm asks NATS to confirm that it gets what the relay publishes about a message, and that the relay
// may read the stream, before the first one is sent to the API and three times in AckWait. NATS does not
// answer an acknowledgement, so a relay that may not publish one would send the same events for ever.
func (r *Relay) confirm(ctx context.Context, from *consumer, m jetstream.Msg) error {
	if time.Since(from.confirmed) < r.cfg.AckWait/3 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.link.cfg.Timeout)
	defer cancel()
	_, err := r.link.nc.RequestWithContext(ctx, m.Reply(), []byte(inProgress))
	if err != nil {
		return cmp.Or(r.link.ackDenied(ackSubjects), fmt.Errorf("stream: NATS does not confirm that it gets the relay's acknowledgements: %w", err))
	}
	if err := r.link.look(ctx); err != nil {
		return err
	}
	from.confirmed = time.Now()
	return nil
}

// mayAcknowledge returns an error if the user of the relay may not acknowledge events, before there are
// any. It extends position 0, which is no message. The server says that it may not before it answers a ping.
func (r *Relay) mayAcknowledge(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.link.cfg.Timeout)
	defer cancel()
	if err := r.link.nc.Publish(r.subject(ackPrefix)+".1.0.0.0.0", []byte(inProgress)); err != nil {
		return err
	}
	if err := r.link.nc.FlushWithContext(ctx); err != nil {
		return err
	}
	return r.link.ackDenied(ackSubjects)
}

const (
	inProgress = "+WPI"     // extends the AckWait of a message
	ackPrefix  = "$JS.ACK." // of the subjects of acknowledgements
)
