package sqlite

import "github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"

// siteDay is a day of a site.
type siteDay struct {
	site uint32
	day  int64
}

func (d siteDay) begin() int64 { return d.day * colstore.MsPerDay }
func (d siteDay) end() int64   { return (d.day + 1) * colstore.MsPerDay }
