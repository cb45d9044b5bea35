//go:build ci

package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/footfall-dev/footfall/examples/jobs"
)

// Run works until ctx ends or a signal arrives.
func Run(ctx context.Context, consumer jetstream.Consumer, w *jobs.Worker) error {
	return w.Tracker.RunFunc(ctx, func(ctx context.Context) error {
		messages, err := consumer.Messages(jetstream.PullMaxMessages(1)) // others stay in the stream for other workers
		if err != nil {
			return err
		}
		defer context.AfterFunc(ctx, messages.Stop)()
		for {
			m, err := messages.Next()
			if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := handle(context.WithoutCancel(ctx), m, w); err != nil { // the last job ends, too
				log.Print(err)
			}
		}
	})
}

// handle works one message. It returns an error if the server did not take the acknowledgement.
func handle(ctx context.Context, m jetstream.Msg, w *jobs.Worker) error {
	task, err := taskOf(m)
	if err != nil {
		return err
	}
	var o jobs.Order
	if err := json.Unmarshal(m.Data(), &o); err != nil {
		return m.TermWithReason(err.Error())
	}
	if err := w.Pay(ctx, task, o); err != nil {
		return m.NakWithDelay(time.Second)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return m.DoubleAck(ctx)
}

// taskOf returns the id that the publisher gave to a message, or else its place in the stream.
func taskOf(m jetstream.Msg) (string, error) {
	if id := m.Headers().Get(jetstream.MsgIDHeader); id != "" {
		return "nats:" + id, nil
	}
	of, err := m.Metadata()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("nats:%s:%d", of.Stream, of.Sequence.Stream), nil
}
