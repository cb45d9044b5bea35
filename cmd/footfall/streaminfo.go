package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/natsconn"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
	"github.com/footfall-dev/footfall/stream"
)

func infoCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "info", Usage: "print what is in the streams, and their bounds",
		Flags:  slices.Concat(natsconn.Flags(), natsconn.NameFlags(), []cli.Flag{natsconn.ConsumerFlag(), shell.JSONFlag()}),
		Before: shell.NoArguments, OnUsageError: shell.WrongUsage,
		Action: func(ctx context.Context, c *cli.Command) error {
			v := shell.Read(c)
			s, cfg, consumer := natsconn.Read(v), natsconn.ReadStream(v), natsconn.ReadConsumer(v)
			s.Require(v, "")
			if err := v.Err(); err != nil {
				return err
			}
			cfg, stop, err := s.Open("stream info", cfg, slog.New(slog.NewTextHandler(stderr, nil)))
			if err != nil {
				return err
			}
			defer stop()
			lag, err := stream.Inspect(ctx, cfg, stream.RelayConfig{Consumer: consumer})
			if err != nil {
				return noStream(s.Explain(err), s, cfg)
			}
			if c.Bool("json") {
				return shell.WriteJSON(stdout, infoOf(lag))
			}
			return writeInfo(stdout, cfg.Name, lag)
		},
	}
}

// streamInfo is what is in the streams, in JSON.
type streamInfo struct {
	Events           uint64  `json:"events"`
	Held             int     `json:"held"`
	OldestSeconds    float64 `json:"oldest_seconds"`
	Expired          uint64  `json:"expired"`
	Bytes            uint64  `json:"bytes"`
	MaxBytes         int64   `json:"max_bytes"`
	MaxAgeSeconds    float64 `json:"max_age_seconds"`
	Replicas         int     `json:"replicas"`
	Rejected         uint64  `json:"rejected"`
	RejectedBytes    uint64  `json:"rejected_bytes"`
	RejectedMaxBytes int64   `json:"rejected_max_bytes"`
}

func infoOf(l stream.Lag) streamInfo {
	return streamInfo{l.Events, l.Held, l.Oldest.Seconds(), l.Expired, l.Bytes, l.MaxBytes, l.MaxAge.Seconds(), l.Replicas, l.Rejected, l.RejectedBytes, l.RejectedMaxBytes}
}

func writeInfo(out io.Writer, name string, l stream.Lag) error {
	age := "no bound"
	if l.MaxAge > 0 {
		age = l.MaxAge.String()
	}
	_, err := fmt.Fprintf(out, "%s\n  events    %d, of them %d with relays\n  oldest    %v old, of at most %s\n  expired   %d, which no relay had taken\n  size      %s of %s\n  replicas  %d\n%s_REJECTED\n  events    %d\n  size      %s of %s\n",
		name, l.Events, l.Held, l.Oldest.Round(time.Second), age, l.Expired, humanize.IBytes(l.Bytes), size(l.MaxBytes), l.Replicas,
		name, l.Rejected, humanize.IBytes(l.RejectedBytes), size(l.RejectedMaxBytes))
	return err
}

// size describes a bound.
func size(bytes int64) string {
	if bytes <= 0 {
		return "no bound"
	}
	return humanize.IBytes(uint64(bytes))
}
