package main

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// warnOfMisspelled logs a warning about each variable of an environment whose name nearly is the name of
// an option of serve. It does not log the value. It keeps no list of other names: variables of the library
// and of the command footfall may be in the same environment.
func warnOfMisspelled(log *slog.Logger, environ []string) {
	s := newSettings(func(string) string { return "" })
	s.forServe()
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || slices.Contains(s.variables, name) {
			continue
		}
		known := slices.MinFunc(s.variables, func(a, b string) int { return distance(a, name) - distance(b, name) })
		if distance(known, name) < (len(known)-len(prefix)+1)/2 {
			log.Warn("the collector does not read this variable; is its name misspelled?", "variable", name, "nearest", known)
		}
	}
}

// prefix begins the names of all variables.
const prefix = "FOOTFALL_"

// distance returns how many runes have to be inserted or removed to make b of a.
func distance(a, b string) int {
	return levenshtein.Distance(a, b, levenshtein.NewParams().SubCost(2))
}
