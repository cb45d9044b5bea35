package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/natsconn"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
	"github.com/footfall-dev/footfall/stream"
)

func streamCommand(stdout, stderr io.Writer) *cli.Command {
	apply := &cli.Command{
		Name: "apply", Usage: "change the bounds of the streams to those that are given",
		Description: "It changes -replicas, -max-bytes, -max-age, -duplicate-window, -rejected-max-bytes and -rejected-max-age\n" +
			"of streams that exist, those of them that are given. Programs and relays go on meanwhile. A bound that\n" +
			"would remove events is refused. After a change of -replicas it waits until NATS has settled them.",
		Flags:  slices.Concat(natsconn.Flags(), natsconn.StreamFlags(), []cli.Flag{shell.JSONFlag()}),
		Before: shell.NoArguments, OnUsageError: shell.WrongUsage,
		Action: func(ctx context.Context, c *cli.Command) error { return applyBounds(ctx, c, stdout, stderr) },
	}
	return &cli.Command{
		Name: "stream", Usage: "show or change the NATS stream of the events",
		Commands: []*cli.Command{infoCommand(stdout, stderr), apply},
		Action:   shell.NeedsCommand("info or apply"),
	}
}

// appliedChange is a change in JSON.
type appliedChange struct {
	Stream  string `json:"stream"`
	Setting string `json:"setting"`
	From    string `json:"from"`
	To      string `json:"to"`
}

// applyBounds changes the streams, and prints the changes, also those before an error.
func applyBounds(ctx context.Context, c *cli.Command, stdout, stderr io.Writer) error {
	v := shell.Read(c)
	s, cfg := natsconn.Read(v), natsconn.ReadBounds(v)
	s.Require(v, "")
	if !natsconn.BoundsGiven(cfg) {
		v.Problem("which bound? give at least one, such as -max-bytes 2GiB; %s -help lists them", c.FullName())
	}
	if err := v.Err(); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	cfg, stop, err := s.Open("stream apply", cfg, log)
	if err != nil {
		return err
	}
	defer stop()
	changes, err := stream.Apply(ctx, cfg)
	err = noStream(s.Explain(err), s, cfg)
	err = errors.Join(err, writeChanges(stdout, changes, err == nil, c.Bool("json")))
	if slices.ContainsFunc(changes, func(c stream.Change) bool { return c.Setting == "replicas" }) {
		log.Info("waiting until NATS has settled the replicas, about 30 s. Programs keep their events until the servers have a majority. Do not stop a server meanwhile: the stream may have no leader until it is back")
		err = errors.Join(err, settle(ctx, cfg))
	}
	return err
}

// settleTime bounds the wait for the replicas. NATS takes longer for a stream with many events.
const settleTime = 2 * time.Minute

// settle waits until the replicas of the streams are settled.
func settle(ctx context.Context, cfg stream.Config) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if err := stream.AwaitReplicas(ctx, cfg); err != nil {
		return fmt.Errorf("%w: footfall doctor says when it is, in its line replicas", err)
	}
	cfg.Logger.Info("the replicas are settled")
	return nil
}

func writeChanges(out io.Writer, changes []stream.Change, all, json bool) error {
	if json {
		list := []appliedChange{}
		for _, c := range changes {
			list = append(list, appliedChange(c))
		}
		return shell.WriteJSON(out, map[string]any{"changed": list})
	}
	for _, c := range changes {
		if _, err := fmt.Fprintf(out, "%s: %s was %s, is %s\n", c.Stream, c.Setting, c.From, c.To); err != nil {
			return err
		}
	}
	if all && len(changes) == 0 {
		fmt.Fprintln(out, "The streams have these bounds.")
	}
	return nil
}

// noStream explains that there is no stream.
func noStream(err error, s *natsconn.Servers, cfg stream.Config) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("NATS at %s has no stream %q: the first program or relay creates it with its own settings, or correct -stream", s, cfg.Name)
	}
	return err
}
