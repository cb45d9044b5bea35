package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// AwaitReplicas waits until a change of Replicas by [Apply] is settled: both streams have a leader, the
// servers that keep them have all events, and NATS adds and removes none any more. Until then a stream
// has no leader while its former leader is stopped. The error says which stream is not settled when ctx
// ends, or why AwaitReplicas cannot know. A stream of rejected events may be missing.
func AwaitReplicas(ctx context.Context, cfg Config) error {
	link, err := openExisting(cfg)
	if err != nil {
		return err
	}
	defer link.close()
	if err := link.settle(ctx, link.cfg.Name); err != nil {
		return err
	}
	if err := link.settle(ctx, link.cfg.rejectedName()); !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	return nil
}

// settleEvery is the time between two looks at a stream whose replicas change.
const settleEvery = 250 * time.Millisecond

// settle waits until the replicas of a stream are settled. A stream without a leader does not answer.
func (l *link) settle(ctx context.Context, name string) error {
	for {
		done, err := l.settled(ctx, name)
		if done || errors.Is(err, jetstream.ErrStreamNotFound) || isDenied(err) {
			return err
		}
		select {
		case <-time.After(settleEvery):
		case <-ctx.Done():
			return fmt.Errorf("stream: the change of the replicas of NATS stream %q is not settled: %w", name, ctx.Err())
		}
	}
}

// settled reports whether the replicas of a stream are settled.
func (l *link) settled(ctx context.Context, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	s, err := l.js.Stream(ctx, name)
	if err != nil {
		return false, l.refused(streamInfo, name, err)
	}
	info := s.CachedInfo()
	c := info.Cluster
	if c == nil { // a server without a cluster
		return true, nil
	}
	if c.Leader == "" || c.Desired != nil || len(c.Replicas) != info.Config.Replicas-1 {
		return false, nil
	}
	for _, p := range c.Replicas {
		if !p.Current || p.Offline {
			return false, nil
		}
	}
	return true, nil
}
