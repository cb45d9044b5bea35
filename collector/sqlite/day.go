package sqlite

import "github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"

// dayOf is a day of a site.
type dayOf struct {
	site uint32
	day  int64
}

func (d dayOf) begin() int64 { return d.day * colstore.MsPerDay }
func (d dayOf) end() int64   { return (d.day + 1) * colstore.MsPerDay }
