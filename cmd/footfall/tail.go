package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/natsconn"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
	"github.com/footfall-dev/footfall/stream"
)

func tailCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "tail", Usage: "print the events that are published to a NATS stream from now on",
		Description: "It subscribes to the subject of the events, takes none of them from the relays, and ends on SIGINT or\n" +
			"SIGTERM. With -json each line is an event.",
		Flags: append(natsconn.Flags(), natsconn.SubjectFlag(),
			&cli.StringFlag{Name: "site", Usage: "only events of the site with this `ID`"},
			&cli.StringFlag{Name: "event", Usage: "only events with this `NAME`"},
			shell.JSONFlag(),
		),
		Before: shell.NoArguments,
		Action: func(ctx context.Context, c *cli.Command) error {
			v := shell.Read(c)
			s, cfg := natsconn.Read(v), natsconn.ReadStream(v)
			s.Require(v, "")
			if err := v.Err(); err != nil {
				return err
			}
			log := slog.New(slog.NewTextHandler(stderr, nil))
			cfg, stop, err := s.Open("tail", cfg, log)
			if err != nil {
				return err
			}
			defer stop()
			log.Info("events from now on; Ctrl+C ends", "nats", s)
			t := &tail{out: stdout, site: c.String("site"), event: c.String("event"), json: c.Bool("json")}
			return t.run(ctx, cfg, s)
		},
	}
}

// tail prints events.
type tail struct {
	out         io.Writer
	site, event string // of the events to print; empty for all
	json        bool
	err         error // of the output
}

// run prints events until ctx ends or the output is closed.
func (t *tail) run(ctx context.Context, cfg stream.Config, s *natsconn.Servers) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := stream.Tail(ctx, cfg, func(e stream.Event) {
		if t.err = t.print(time.Now(), e); t.err != nil {
			cancel()
		}
	})
	switch {
	case t.err != nil:
		return t.err
	case errors.Is(err, context.Canceled):
		return nil
	}
	return s.Explain(err)
}

// print prints an event unless it is filtered out. A message that is not an event is never filtered out.
func (t *tail) print(now time.Time, m stream.Event) error {
	e, ok := shell.ParseEvent(m.Body)
	if ok && (t.site != "" && t.site != e.SiteID || t.event != "" && t.event != e.Name) {
		return nil
	}
	if t.json {
		return json.NewEncoder(t.out).Encode(struct {
			ID   string `json:"id,omitempty"`
			Body any    `json:"event"`
		}{m.ID, shell.JSONBody(m.Body)})
	}
	line := fmt.Sprintf("not an event, %d bytes", len(m.Body))
	if ok {
		line = e.Line()
	}
	_, err := fmt.Fprintf(t.out, "%s  %s\n", now.Format("15:04:05.000"), line)
	return err
}
