package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
)

func sitesCommand(out io.Writer) *cli.Command {
	return &cli.Command{
		Name: "sites", Usage: "list the sites of the account", Flags: []cli.Flag{shell.JSONFlag()}, Before: shell.NoArguments,
		Action: func(ctx context.Context, c *cli.Command) error {
			_, client, err := shell.APIFromEnv()
			if err != nil {
				return err
			}
			if err := client.Check(ctx); err != nil {
				return fmt.Errorf("%w; run footfall doctor for details", err)
			}
			sites, err := client.Sites(ctx)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return shell.WriteJSON(out, sites)
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
