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
	Events                 uint64  `json:"events"`
	Held                   int     `json:"held"`
	OldestSeconds          float64 `json:"oldest_seconds"`
	Expired                uint64  `json:"expired"`
	Bytes                  uint64  `json:"bytes"`
	MaxBytes               int64   `json:"max_bytes"`
	MaxAgeSeconds          float64 `json:"max_age_seconds"`
	Replicas               int     `json:"replicas"`
	DuplicateWindowSeconds float64 `json:"duplicate_window_seconds"`
	Rejected               uint64  `json:"rejected"`
	RejectedBytes          uint64  `json:"rejected_bytes"`
	RejectedMaxBytes       int64   `json:"rejected_max_bytes"`
	RejectedMaxAgeSeconds  float64 `json:"rejected_max_age_seconds"`
}

func infoOf(l stream.Lag) streamInfo {
	return streamInfo{
		l.Events, l.Held, l.Oldest.Seconds(), l.Expired, l.Bytes, l.MaxBytes, l.MaxAge.Seconds(), l.Replicas, l.DuplicateWindow.Seconds(),
		l.Rejected, l.RejectedBytes, l.RejectedMaxBytes, l.RejectedMaxAge.Seconds(),
	}
}

func writeInfo(out io.Writer, name string, l stream.Lag) error {
	rejected := "  none yet: the first relay creates it\n"
	if l.RejectedMaxBytes != 0 {
		rejected = fmt.Sprintf("  events    %d\n  max age   %s\n  size      %s of %s\n", l.Rejected, age(l.RejectedMaxAge), humanize.IBytes(l.RejectedBytes), size(l.RejectedMaxBytes))
	}
	_, err := fmt.Fprintf(out, "%s\n  events    %d, of them %d with relays\n  oldest    %v old, of at most %s\n  expired   %d, which no relay had taken\n  size      %s of %s\n  replicas  %d\n  window    %v for duplicates\n%s_REJECTED\n%s",
		name, l.Events, l.Held, l.Oldest.Round(time.Second), age(l.MaxAge), l.Expired, humanize.IBytes(l.Bytes), size(l.MaxBytes), l.Replicas, l.DuplicateWindow,
		name, rejected)
	return err
}

// age describes a bound.
func age(d time.Duration) string {
	if d <= 0 {
		return "no bound"
	}
	return d.String()
}

// size describes a bound.
func size(bytes int64) string {
	if bytes <= 0 {
		return "no bound"
	}
	return humanize.IBytes(uint64(bytes))
}
