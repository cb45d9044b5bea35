package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
)

func sendCommand(out io.Writer) *cli.Command {
	return &cli.Command{
		Name: "send", Usage: "send one event", ArgsUsage: "NAME",
		DisableSliceFlagSeparator: true, // a value may have commas
		Description: "A value of -prop that is a number in JSON is sent as a number, any other as text. Quote a number to\n" +
			"send it as text: -prop 'zip=\"10115\"'.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "url", Usage: "the `PAGE` of the event; without it FOOTFALL_DEFAULT_URL"},
			&cli.StringFlag{Name: "site", Usage: "the `ID` of the site; without it FOOTFALL_SITE_ID"},
			&cli.StringSliceFlag{Name: "prop", Usage: "a prop, `KEY=VALUE`; may be repeated"},
			shell.JSONFlag(),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.Args().Len() != 1 {
				return shell.UsageError("%s needs one NAME, not %d", c.FullName(), c.Args().Len())
			}
			cfg, client, err := shell.APIFromEnv()
			if err != nil {
				return err
			}
			props, err := parseProps(c.StringSlice("prop"))
			if err != nil {
				return err
			}
			e := footfall.Event{SiteID: cfg.SiteID, Name: c.Args().First(), URL: cfg.DefaultURL, Props: props}
			if c.IsSet("site") {
				e.SiteID = c.String("site")
			}
			if c.IsSet("url") {
				e.URL = c.String("url")
			}
			switch {
			case cfg.Disabled:
				return shell.UsageError("FOOTFALL_DISABLED: true: unset it to send an event")
			case e.SiteID == "":
				return shell.UsageError("the event has no site: set FOOTFALL_SITE_ID or -site; footfall sites lists them")
			case e.URL == "":
				return shell.UsageError("the event has no page: set -url or FOOTFALL_DEFAULT_URL")
			}
			if err := client.Send(ctx, e); err != nil {
				return notSent(err)
			}
			if c.Bool("json") {
				return shell.WriteJSON(out, map[string]any{"accepted": true, "site_id": e.SiteID, "name": e.Name, "url": e.URL})
			}
			_, err = fmt.Fprintf(out, "accepted: %s on %s\n", e.Name, e.URL)
			return err
		},
	}
}

// notSent adds the command that knows a remedy to an error of the API or of the network.
func notSent(err error) error {
	if shell.Status(err) == 2 {
		return err
	}
	if answer, ok := errors.AsType[*footfall.APIError](err); ok && answer.Code == "not_found" {
		return fmt.Errorf("%w; footfall sites lists them", err)
	}
	return fmt.Errorf("%w; run footfall doctor for details", err)
}

// parseProps reads props of the command line.
func parseProps(list []string) (props []footfall.Prop, err error) {
	for _, text := range list {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, shell.UsageError("-prop %q is not of the form KEY=VALUE", text)
		}
		props = append(props, propOf(key, value))
	}
	return props, nil
}

func propOf(key, value string) footfall.Prop {
	var n json.Number
	var number float64
	var text string
	switch raw := []byte(value); {
	case strings.HasPrefix(value, `"`) && json.Unmarshal(raw, &text) == nil:
		return footfall.P(key, text)
	case !strings.HasPrefix(value, `"`) && json.Unmarshal(raw, &n) == nil && value != "null":
		if whole, err := n.Int64(); err == nil {
			return footfall.P(key, whole)
		}
		if json.Unmarshal(raw, &number) == nil {
			return footfall.P(key, number)
		}
	}
	return footfall.P(key, value)
}
