package stream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/footfall-dev/footfall/internal/retry"
)

// fetchWait is the longest time of one request for messages. Run waits for the end of the last
// one, so that no message is lost on the way until AckWait returns it.
const fetchWait = time.Second

// fetch fetches messages while there is room, until ctx ends or the stream cannot be used any more.
func (r *Relay) fetch(ctx context.Context) error {
	wait := retry.Backoff{Base: 100 * time.Millisecond, Max: 5 * time.Second}
	var consumer jetstream.Consumer
	for failures := 0; ctx.Err() == nil; {
		var err error
		if consumer == nil {
			consumer, err = r.consumer(ctx)
		}
		if err == nil {
			r.trouble.Store(nil)
			err = r.fetchSome(ctx, consumer)
		}
		if err == nil || ctx.Err() != nil {
			r.tell(&failures, nil)
			continue
		}
		if _, ok := errors.AsType[*SettingsError](err); ok {
			return err
		}
		consumer = nil // it may be deleted
		r.link.checked.Store(false)
		r.link.failed(err)
		r.tell(&failures, err)
		select {
		case <-time.After(wait.Delay(min(failures, 10))):
		case <-ctx.Done():
		}
	}
	return nil
}

// tell logs the first of several failures in a row, and their end.
func (r *Relay) tell(failures *int, err error) {
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
func (r *Relay) fetchSome(ctx context.Context, c jetstream.Consumer) error {
	most := r.cfg.MaxHeld
	if r.limit != nil { // messages wait for the limit without being extended
		most = max(1, min(most, int(r.cfg.Rate*r.cfg.AckWait.Seconds()/4)))
	}
	least := max(1, min(256, r.cfg.MaxHeld/4, most))
	n := min(r.fetchable(least), most)
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
	began := time.Now()
	batch, err := c.Fetch(n, jetstream.FetchMaxWait(fetchWait))
	if err != nil {
		return err
	}
	some := r.receive(ctx, batch.Messages())
	if err := batch.Error(); err != nil {
		return err
	}
	if !some && time.Since(began) > fetchWait+fetchWait/2 {
		return errSilent
	}
	r.link.worked()
	return nil
}

// fetchable returns how many messages to fetch now, or 0. If there is little room, and none of the
// messages that the relay holds can be sent, others in the stream may be accepted, so fetchable makes
// room for them. While the API accepts nothing it does so once in AckWait, because others are
// probably not accepted either.
func (r *Relay) fetchable(least int) int {
	free, stuck := r.feed.room()
	switch {
	case free >= least:
		return free
	case !stuck:
		return 0
	case r.isOut():
		if time.Since(r.looked) < r.cfg.AckWait {
			return 0
		}
		r.looked = time.Now()
	}
	return r.feed.makeRoom(least)
}

// errSilent is the error of a server that does not even say that there are no messages. Fetch
// waits a second longer for it than fetchWait.
var errSilent = errors.New("stream: NATS does not answer the request for messages")

// receive passes messages to the feed as they arrive, those that have arrived together at once.
// It reports whether there were any.
func (r *Relay) receive(ctx context.Context, messages <-chan jetstream.Msg) (received bool) {
	var some []jetstream.Msg
	for m := range messages {
		received = true
		some = append(some[:0], m)
		for more := r.limit == nil; more; {
			select {
			case m, ok := <-messages:
				if more = ok; ok {
					some = append(some, m)
				}
			default:
				more = false
			}
		}
		if r.limit != nil {
			_ = r.limit.Wait(ctx) // when ctx ends, the feed returns the message to the stream
		}
		r.feed.put(some)
	}
	return received
}
