package doctor

import (
	"fmt"
	"io"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
)

// Level is the result of a check.
type Level string

const (
	Good    Level = "ok"
	Warn    Level = "warn"
	Bad     Level = "fail"
	Skipped Level = "skip"
)

// Finding is the result of one check, a line of the output.
type Finding struct {
	Check  string `json:"check"`
	Level  Level  `json:"level"`
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"` // what to do
}

// Report collects findings.
type Report struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`

	WrongSettings bool `json:"-"`
}

func (r *Report) add(check string, l Level, found, remedy string) {
	r.Findings = append(r.Findings, Finding{check, l, found, remedy})
	if l == Bad {
		r.OK = false
	}
}

// Write prints the findings.
func (r *Report) Write(out io.Writer) error {
	for _, f := range r.Findings {
		text := fmt.Sprintf("%-4s  %-24s %s\n", f.Level, f.Check, shell.Printable(f.Found))
		if f.Remedy != "" {
			text += fmt.Sprintf("      %-24s → %s\n", "", shell.Printable(f.Remedy))
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	return nil
}
