package footprint

import (
	"fmt"

	"github.com/footfall-dev/footfall/bench/report"
)

func section(all []candidate, found []figures, versions string, starts, idles int) report.Section {
	return report.Section{
		ID: "H", Title: "Footprint",
		How: fmt.Sprintf("A server that says hello, with and without an SDK that tracks in its handler or a middleware around it: built in its own module with -trimpath, "+
			"started %d times in turn (from exec until it listens; median), and measured after an idle second (median of %d).", starts, idles),
		Tables: []report.Table{table(all, found)},
		Notes: []string{
			"stripped: built with -ldflags=\"-s -w\" besides. Growth is over net/http alone.",
			"modules in go.sum: modules with a checksum in a user's go.sum, including Footfall's own, which are folders here; linked: modules with a package in the binary.",
			"No event is tracked, and the configured API does not answer. otelhttp has an SDK with a batch processor and an exporter that does nothing.",
			"Measured: " + versions + "; Footfall as it is here.",
		},
	}
}

func table(all []candidate, found []figures) report.Table {
	t := report.Table{Columns: []string{
		"program", "binary MiB", "growth KiB", "stripped MiB", "growth KiB, stripped", "modules in go.sum", "modules linked",
		"start ms", "over bare ms", "goroutines idle", "RSS idle MiB", "over bare MiB",
	}}
	first := &found[0]
	for i := range found {
		f := &found[i]
		row := []any{
			all[i].name, mib(f.size), kib(f.size - first.size), mib(f.stripped), kib(f.stripped - first.stripped), f.summed, f.linked,
			report.Median(f.start), report.Median(f.start) - report.Median(first.start), int(report.Median(f.goroutines)), report.Median(f.rss), report.Median(f.rss) - report.Median(first.rss),
		}
		if i == 0 {
			row[2], row[4], row[8], row[11] = nil, nil, nil, nil
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
func kib(bytes int64) float64 { return float64(bytes) / (1 << 10) }
