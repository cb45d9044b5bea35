package dashboard

import (
	"cmp"
	"net/http"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// maxPropValues is how many values of each prop are shown for an event.
const maxPropValues = 20

// eventPage is the data of the page of one event.
type eventPage struct {
	Name   string
	Row    store.Row
	Props  []propTable
	Hidden store.PropRow // sum of the keys left out
	Back   string
}

// propTable holds the values of a key.
type propTable struct {
	Key  string
	Rows []tableRow
	Rest store.PropRow // sum of the values left out
}

// events shows the table of all events, or one event with its props.
func (b *board) events(w http.ResponseWriter, r *http.Request, site account.Site) error {
	name := r.URL.Query().Get("name")
	if name == "" {
		names, _ := store.Names.Info()
		return b.showTable(w, r, site, names)
	}
	p := readPeriod(r, b.Now())
	row, err := b.Store.Count(r.Context(), p.query(site.ID), store.Match{Event: name})
	if err != nil {
		return err
	}
	props, err := b.Store.Props(r.Context(), p.query(site.ID), name, maxPropValues)
	if err != nil {
		return err
	}
	page := eventPage{Name: name, Row: row, Back: p.On("/sites/" + site.ID + "/events")}
	page.Props, page.Hidden = propTables(props)
	return b.show(w, r, http.StatusOK, "event", view{
		Title: name, Tab: "overview", Site: site, Period: p, Data: page,
	})
}

// propTables groups rows, which are sorted by key. The last one may be the sum of hidden keys.
func propTables(rows []store.PropRow) (all []propTable, hidden store.PropRow) {
	most := int64(0)
	for _, row := range rows {
		if row.Key == "" && row.Rest > 0 {
			hidden = row
			continue
		}
		if len(all) == 0 || all[len(all)-1].Key != row.Key {
			all, most = append(all, propTable{Key: row.Key}), row.Count
		}
		last := &all[len(all)-1]
		if row.Rest > 0 {
			last.Rest = row
			continue
		}
		last.Rows = append(last.Rows, tableRow{
			Text: cmp.Or(row.Value, "(empty)"), Count: row.Count, Visitors: row.Visitors, Share: share(row.Count, most),
		})
	}
	return all, hidden
}
