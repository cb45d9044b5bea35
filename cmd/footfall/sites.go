package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall"
)

// timeout bounds each step that needs the network.
const timeout = 10 * time.Second

// newClient returns a client with the settings of the environment.
func newClient(cfg footfall.Config, over *http.Client) (*footfall.Client, error) {
	return footfall.NewClient(footfall.ClientConfig{
		BaseURL: cfg.BaseURL, APIKey: cfg.APIKey, AllowHTTP: cfg.AllowHTTP, Timeout: timeout, HTTPClient: over,
	})
}

// checkSettings returns the problems of a Config, without I/O. The site may be missing.
func checkSettings(cfg footfall.Config) error {
	cfg.Disabled = false
	cfg.SiteID = cmp.Or(cfg.SiteID, "any")
	tracker, err := footfall.New(cfg)
	if err != nil {
		return err
	}
	return tracker.Close(context.Background())
}

// configured returns the settings of the environment and a client for them.
func configured() (footfall.Config, *footfall.Client, error) {
	cfg := footfall.ConfigFromEnv()
	if err := checkSettings(cfg); err != nil {
		return cfg, nil, err
	}
	client, err := newClient(cfg, nil)
	return cfg, client, err
}

func sitesCommand(out io.Writer, jsonFlag cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "sites", Usage: "list the sites of the account", Flags: []cli.Flag{jsonFlag}, Before: noArguments,
		Action: func(ctx context.Context, c *cli.Command) error {
			_, client, err := configured()
			if err != nil {
				return err
			}
			if err := client.Check(ctx); err != nil {
				return fmt.Errorf("%w; footfall doctor tells more", err)
			}
			sites, err := client.Sites(ctx)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return writeJSON(out, sites)
			}
			return writeSites(out, sites)
		},
	}
}

func writeSites(out io.Writer, sites []footfall.Site) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tDOMAIN\tTRACKING\tADDED")
	for _, s := range sites {
		tracking := "inactive"
		if s.TrackingActive {
			tracking = "active"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.ID, s.Domain, tracking, s.CreatedAt.Format("2006-01-02"))
	}
	return w.Flush()
}

func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
