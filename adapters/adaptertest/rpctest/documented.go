package rpctest

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// DocumentedStatuses reads the table in the documentation of an adapter's package, which is in
// file. It returns the recorded status of each code, by the code's name in lower case.
func DocumentedStatuses(t *testing.T, file string) map[string]int {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(source), "\npackage ")
	documented := make(map[string]int)
	for row := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(row, "//\t") {
			continue
		}
		status := 0
		for _, word := range regexp.MustCompile(`[A-Za-z]+|\d{3}`).FindAllString(row, -1) {
			if n, err := strconv.Atoi(word); err == nil {
				status = n
			} else if word[0] < 'a' { // the name of a code, not "and"
				documented[strings.ToLower(word)] = status
			}
		}
	}
	return documented
}
