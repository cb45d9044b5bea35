// Footfall checks the settings of a program that uses package footfall, lists sites, sends events
// from a shell, and relays the events of a NATS stream to the API.
//
//	footfall doctor -send
//	footfall sites -json
//	footfall send deploy_finished -url https://shop.example.com/ -prop version=v1.4 -prop seconds=41
//	footfall relay -nats nats://nats-1:4222,nats://nats-2:4222 -metrics :9091
//	footfall relay -embedded ./events
//	footfall tail -nats nats://nats-1:4222 -event checkout_completed
//	footfall rejected list -nats nats://nats-1:4222
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
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // after the first signal, a second one ends the program at once
	err := newCommand(os.Stdout, os.Stderr).Run(ctx, os.Args)
	stop()
	if err != nil && !errors.Is(err, errReported) {
		fmt.Fprintln(os.Stderr, "footfall: "+shownError(err))
	}
	os.Exit(status(err))
}

// shownError returns the text of an error for a terminal. An answer of the API is part of some.
func shownError(err error) string {
	lines := strings.Split(strings.TrimPrefix(err.Error(), "footfall: "), "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

var (
	// errReported ends the program with status 1. The output has the reason.
	errReported = errors.New("reported")

	// errUsage is wrapped by errors of the command line and of settings.
	errUsage = errors.New("wrong usage")
)

// usageError is an error that ends the program with status 2.
type usageError struct{ error }

func (usageError) Is(target error) bool { return target == errUsage }
func (e usageError) Unwrap() error      { return e.error }

// status returns the exit status for an error.
func status(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		return 2
	}
	if _, wrong := errors.AsType[cli.ExitCoder](err); wrong { // package cli names an unknown command
		return 2
	}
	if _, wrong := errors.AsType[*footfall.FieldError](err); wrong {
		return 2
	}
	return 1
}

func newCommand(stdout, stderr io.Writer) *cli.Command {
	jsonFlag := &cli.BoolFlag{Name: "json", Usage: "print JSON, for programs"}
	commands := []*cli.Command{
		doctorCommand(stdout, jsonFlag), sitesCommand(stdout, jsonFlag), sendCommand(stdout, jsonFlag),
		relayCommand(stdout, stderr, jsonFlag), tailCommand(stdout, stderr, jsonFlag), rejectedCommand(stdout, stderr, jsonFlag),
		versionCommand(stdout),
	}
	root := &cli.Command{
		Name:  "footfall",
		Usage: "check settings, list sites, send events and relay them to the Site Analytics API",
		Description: "Settings are the environment variables of the Go library: FOOTFALL_BASE_URL, FOOTFALL_API_KEY,\n" +
			"FOOTFALL_SITE_ID and those that `footfall doctor` lists.\n\n" +
			"The exit status is 0 after success, 1 if a check fails, the API does not accept a request or NATS\n" +
			"cannot be used, and 2 if the command line or a setting is wrong.",
		Commands:                        commands,
		EnableShellCompletion:           true,
		ConfigureShellCompletionCommand: func(c *cli.Command) { c.Hidden = false },
		Writer:                          stdout,
		ErrWriter:                       stderr,
		ExitErrHandler:                  func(context.Context, *cli.Command, error) {}, // main exits
		OnUsageError:                    wrongUsage,
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Present() {
				return usageError{fmt.Errorf("there is no command %q; -help lists the commands", c.Args().First())}
			}
			return usageError{errors.New("which command? -help lists the commands")}
		},
	}
	for _, c := range commands {
		c.OnUsageError = wrongUsage
	}
	return root
}

func wrongUsage(_ context.Context, c *cli.Command, err error, _ bool) error {
	return usageError{fmt.Errorf("%w; %s -help lists the options", err, c.FullName())}
}

// noArguments refuses arguments of commands that have none. In a completion, the beginning of a
// flag counts as one.
func noArguments(_ context.Context, c *cli.Command) (context.Context, error) {
	if c.Args().Present() && os.Args[len(os.Args)-1] != "--generate-shell-completion" {
		return nil, usageError{fmt.Errorf("%s takes no argument %q", c.FullName(), c.Args().First())}
	}
	return nil, nil
}

func versionCommand(out io.Writer) *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version", Before: noArguments,
		Action: func(context.Context, *cli.Command) error {
			_, err := fmt.Fprintf(out, "footfall %s, %s\n", version(), runtime.Version())
			return err
		},
	}
}

// version returns the version of this program, or devel in a build from a checkout.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
