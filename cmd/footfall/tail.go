package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall/stream"
)

func tailCommand(stdout, stderr io.Writer, jsonFlag cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "tail", Usage: "print the events that are published to a NATS stream from now on",
		Description: "It listens to the subject of the events, takes none of them from the relays, and ends with SIGINT or\n" +
			"SIGTERM. With -json each line is an event.",
		Flags: append(natsFlags(), subjectFlag(),
			&cli.StringFlag{Name: "site", Usage: "only events of the site with this `ID`"},
			&cli.StringFlag{Name: "event", Usage: "only events with this `NAME`"},
			jsonFlag,
		),
		Before: noArguments,
		Action: func(ctx context.Context, c *cli.Command) error {
			v := &values{Command: c}
			s, cfg := v.servers(), v.stream()
			v.needNATS(s, "")
			if err := v.err(); err != nil {
				return err
			}
			log := slog.New(slog.NewTextHandler(stderr, nil))
			nc, err := s.connect("tail", log)
			if err != nil {
				return err
			}
			defer nc.Close()
			log.Info("events from now on; Ctrl+C ends", "nats", s.shown())
			t := &tail{out: stdout, site: c.String("site"), event: c.String("event"), json: c.Bool("json")}
			cfg = s.config(cfg, log)
			cfg.Conn = nc
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
func (t *tail) run(ctx context.Context, cfg stream.Config, s *servers) error {
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
	return s.explain(err)
}

// eventBody is the body of an event.
type eventBody struct {
	SiteID string         `json:"site_id"`
	Name   string         `json:"name"`
	URL    string         `json:"url"`
	Props  map[string]any `json:"props"`
}

// parseEvent reads a body, and reports whether it is an event.
func parseEvent(body []byte) (e eventBody, ok bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return e, d.Decode(&e) == nil && e.Name != ""
}

// print prints an event unless it is filtered out. A message that is no event is never.
func (t *tail) print(now time.Time, m stream.Event) error {
	e, ok := parseEvent(m.Body)
	if ok && (t.site != "" && t.site != e.SiteID || t.event != "" && t.event != e.Name) {
		return nil
	}
	if t.json {
		return json.NewEncoder(t.out).Encode(struct {
			ID   string `json:"id,omitempty"`
			Body any    `json:"event"`
		}{m.ID, shownBody(m.Body)})
	}
	line := fmt.Sprintf("not an event, %d bytes", len(m.Body))
	if ok {
		line = e.line()
	}
	_, err := fmt.Fprintf(t.out, "%s  %s\n", now.Format("15:04:05.000"), line)
	return err
}

// shownBody returns JSON as it is, and other bytes as text.
func shownBody(body []byte) any {
	if json.Valid(body) {
		return json.RawMessage(body)
	}
	return string(body)
}

// line describes an event in one line.
func (e *eventBody) line() string {
	words := []string{word(e.Name), word(e.SiteID), word(e.URL)}
	for _, key := range slices.Sorted(maps.Keys(e.Props)) {
		words = append(words, word(key)+"="+word(fmt.Sprint(e.Props[key])))
	}
	return strings.Join(words, "  ")
}

// word quotes a text with spaces or characters that a terminal would obey.
func word(text string) string {
	odd := func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) }
	if text == "" || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}
