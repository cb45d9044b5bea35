//go:build ci

package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/footfall-dev/footfall/examples/jobs"
)

// Run works until ctx ends or a signal arrives, or a job fails. The client has kgo.DisableAutoCommit.
func Run(ctx context.Context, client *kgo.Client, w *jobs.Worker) error {
	return w.Tracker.RunFunc(ctx, func(ctx context.Context) error {
		for {
			fetches := client.PollRecords(ctx, 100)
			if ctx.Err() != nil {
				return nil
			}
			if err := fetches.Err(); err != nil {
				return err
			}
			if err := batch(context.WithoutCancel(ctx), client, fetches.Records(), w); err != nil { // the last batch ends, too
				return err // the next process begins behind the last commit
			}
		}
	})
}

// batch works records, delivers their events, and commits.
func batch(ctx context.Context, client *kgo.Client, records []*kgo.Record, w *jobs.Worker) (err error) {
	done := records[:0:0]
	for _, r := range records {
		if err = work(ctx, r, w); err != nil {
			break
		}
		done = append(done, r)
	}
	flushing, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := w.Tracker.Flush(flushing); err != nil {
		log.Print(err) // the events wait in the queue: an outage of the API does not hold up the jobs
	}
	return errors.Join(err, client.CommitRecords(ctx, done...))
}

func work(ctx context.Context, r *kgo.Record, w *jobs.Worker) error {
	var o jobs.Order
	if err := json.Unmarshal(r.Value, &o); err != nil {
		log.Printf("%s/%d/%d: %v", r.Topic, r.Partition, r.Offset, err) // it would fail for ever
		return nil
	}
	return w.Pay(ctx, fmt.Sprintf("kafka:%s:%d:%d", r.Topic, r.Partition, r.Offset), o)
}
