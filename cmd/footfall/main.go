// Footfall checks the settings of a program that uses package footfall, lists sites, sends events
// from a shell, and relays the events of a NATS stream to the API.
//
//	footfall doctor -send
//	footfall sites -json
//	footfall stats -by event:page -range lastmonth
//	footfall send deploy_finished -url https://shop.example.com/ -prop version=v1.4 -prop seconds=41
//	footfall relay -nats nats://nats-1:4222,nats://nats-2:4222 -metrics :9091
//	footfall relay -embedded ./events
//	footfall tail -nats nats://nats-1:4222 -event checkout_completed
//	footfall rejected list -nats nats://nats-1:4222
//	footfall stream apply -nats nats://nats-1:4222 -max-bytes 2GiB
//	footfall version
//
// It reads the environment variables of footfall.ConfigFromEnv. -help lists commands, options and
// the variables that replace options, and `footfall completion bash` prints a completion for a shell
// (also zsh, fish and pwsh).
//
// The exit status is 0 after success, 1 if a check fails, the API does not accept a request or NATS
// cannot be used, and 2 if the command line or a setting is wrong.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // after the first signal, a second one ends the program at once
	shell.OneHyphen()
	err := newCommand(os.Stdout, os.Stderr).Run(ctx, os.Args)
	stop()
	shell.PrintError(os.Stderr, err)
	os.Exit(shell.Status(err))
}

func newCommand(stdout, stderr io.Writer) *cli.Command {
	commands := []*cli.Command{
		doctorCommand(stdout),
		sitesCommand(stdout),
		statsCommand(stdout),
		sendCommand(stdout),
		relayCommand(stdout, stderr),
		tailCommand(stdout, stderr),
		rejectedCommand(stdout, stderr),
		streamCommand(stdout, stderr),
		versionCommand(stdout),
	}
	for _, c := range commands {
		c.OnUsageError = shell.WrongUsage
	}
	return &cli.Command{
		Name:  "footfall",
		Usage: "check settings, list sites, send events and relay them to the Site Analytics API",
		Description: "Settings are the environment variables of the Go library: FOOTFALL_BASE_URL, FOOTFALL_API_KEY,\n" +
			"FOOTFALL_SITE_ID and those that `footfall doctor` lists.\n\n" +
			"The exit status is 0 after success, 1 if a check fails, the API does not accept a request or NATS\n" +
			"cannot be used, and 2 if the command line or a setting is wrong.",
		Commands:                        commands,
		Flags:                           []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version", Local: true}},
		EnableShellCompletion:           true,
		ConfigureShellCompletionCommand: func(c *cli.Command) { c.Hidden = false },
		Writer:                          shell.Output(stdout),
		ErrWriter:                       stderr,
		ExitErrHandler:                  func(context.Context, *cli.Command, error) {}, // main exits
		OnUsageError:                    shell.WrongUsage,
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Bool("version") {
				return printVersion(stdout)
			}
			if c.Args().Present() {
				return shell.UsageError("there is no command %q; -help lists the commands", c.Args().First())
			}
			return shell.UsageError("which command? -help lists the commands")
		},
	}
}

func versionCommand(out io.Writer) *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version", Flags: []cli.Flag{shell.JSONFlag()}, Before: shell.NoArguments,
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Bool("json") {
				return shell.WriteJSON(out, map[string]string{"version": shell.Version(), "go": runtime.Version()})
			}
			return printVersion(out)
		},
	}
}

func printVersion(out io.Writer) error {
	_, err := fmt.Fprintf(out, "footfall %s, %s\n", shell.Version(), runtime.Version())
	return err
}
