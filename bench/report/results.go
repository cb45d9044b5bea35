package report

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Results are the results of a whole run.
type Results struct {
	Date     time.Time `json:"date"`
	Machine  Machine   `json:"machine"`
	Rounds   int       `json:"rounds"`
	Modules  []Module  `json:"modules"`
	Missing  []string  `json:"missing,omitempty"` // what was not measured, with reasons
	Sections []Section `json:"sections"`
}

// Machine describes the machine of a run.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
}

// Module is a module of the program.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// New returns Results of this machine and program without sections, with the wanted modules.
func New(rounds int, wanted []string) *Results {
	return &Results{Date: time.Now().UTC().Truncate(time.Second), Machine: thisMachine(), Rounds: rounds, Modules: modules(wanted)}
}

func thisMachine() Machine {
	return Machine{
		CPU:    cmp.Or(field("/proc/cpuinfo", "model name"), runtime.GOARCH),
		Cores:  runtime.NumCPU(),
		Kernel: runtime.GOOS + " " + strings.TrimSpace(content("/proc/sys/kernel/osrelease")),
		Go:     runtime.Version(),
	}
}

// field returns the first value of a field in a file of lines "name : value".
func field(file, name string) string {
	for line := range strings.Lines(content(file)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// content returns the content of a file, or "" if it does not exist.
func content(file string) string {
	b, _ := os.ReadFile(file)
	return string(b)
}

func modules(wanted []string) []Module {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var found []Module
	for _, dep := range info.Deps {
		if !slices.Contains(wanted, dep.Path) {
			continue
		}
		version := dep.Version
		if dep.Replace != nil || version == "(devel)" {
			version = "this checkout"
		}
		found = append(found, Module{dep.Path, version})
	}
	return found
}

// Write writes RESULTS.md, results.json and the plots to dir.
func (r *Results) Write(dir string) error {
	var b strings.Builder
	if err := r.Markdown(&b); err != nil {
		return err
	}
	encoded, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	files := map[string]string{"RESULTS.md": b.String(), "results.json": string(encoded) + "\n"}
	for _, section := range r.Sections {
		maps.Copy(files, section.Plots)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
