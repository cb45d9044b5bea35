package shell

import (
	"bytes"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v3"
)

// completionFlag is the last argument if a script of a shell asks for words.
const completionFlag = "--generate-shell-completion"

func completing() bool { return os.Args[len(os.Args)-1] == completionFlag }

// OneHyphen lets the help write options as the documents do. It changes package cli.
func OneHyphen() {
	text := cli.FlagStringer
	cli.FlagStringer = func(f cli.Flag) string { return strings.ReplaceAll(text(f), "--", "-") }
}

// Output returns out, or a writer for words that a shell asks for. Package cli describes options with
// backticks, between which bash would run a command.
func Output(out io.Writer) io.Writer {
	if !completing() {
		return out
	}
	return &words{out, len(os.Args) > 2 && strings.HasPrefix(os.Args[len(os.Args)-2], "--")}
}

// words writes a word and its description at a time.
type words struct {
	io.Writer
	twoHyphens bool // as the user has begun an option
}

func (w *words) Write(p []byte) (int, error) {
	text := bytes.ReplaceAll(p, []byte("`"), nil)
	if !w.twoHyphens && bytes.HasPrefix(text, []byte("--")) {
		text = text[1:]
	}
	_, err := w.Writer.Write(text)
	return len(p), err
}
