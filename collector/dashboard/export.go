package dashboard

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/patient"
	"github.com/footfall-dev/footfall/collector/store"
)

// exportColumns are the header of the CSV file and the member names of the JSON objects.
var exportColumns = []string{
	"at", "name", "url", "path", "referrer", "utm_source", "utm_medium", "utm_campaign", "browser", "device", "visitor", "props",
}

// exportAll is the range of all events.
const exportAll = "all"

// exported returns the range of an export, and the range's name in the file name.
func (b *board) exported(r *http.Request, site account.Site) (store.Query, string) {
	if r.URL.Query().Get("range") == exportAll {
		return ever(site.ID), exportAll
	}
	p := readPeriod(r, b.Now())
	return p.query(site.ID), p.From.Format(time.DateOnly) + "_" + p.lastDay().Format(time.DateOnly)
}

// exportTypes are the media types by kind of export.
var exportTypes = map[string]string{"csv": "text/csv; charset=utf-8", "json": "application/json"}

// exporter writes the events of q.
type exporter func(out *bufio.Writer, q store.Query) error

// exportTo streams the events of the range, with constant memory. On an error halfway it cuts
// the connection, so that the client notices that the file is incomplete.
func (b *board) exportTo(w http.ResponseWriter, r *http.Request, site account.Site, kind string, write exporter) error {
	q, span := b.exported(r, site)
	w.Header().Set("Content-Type", exportTypes[kind])
	w.Header().Set("Content-Disposition", `attachment; filename="`+fileName(site.Domain)+"_"+span+"."+kind+`"`)
	to := patient.New(w, patience) // the server's write deadline is too short for a large export
	out := bufio.NewWriterSize(to, 32<<10)
	err := write(out, q)
	if err == nil {
		return out.Flush() // fails if the client is gone
	}
	if !to.Begun() {
		w.Header().Del("Content-Disposition")
		return err
	}
	if r.Context().Err() == nil {
		b.Logger.ErrorContext(r.Context(), "dashboard: an export failed", "site", site.ID, "error", err)
	}
	panic(http.ErrAbortHandler)
}

// fileName replaces characters that are unsafe in a header or a file name.
func fileName(domain string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, domain)
}

// exportCSV exports CSV with a header line. See guardCell for cells that look like formulas.
func (b *board) exportCSV(w http.ResponseWriter, r *http.Request, site account.Site) error {
	return b.exportTo(w, r, site, "csv", func(out *bufio.Writer, q store.Query) error {
		rows := csv.NewWriter(out)
		if err := rows.Write(exportColumns); err != nil {
			return err
		}
		if err := b.Store.Export(r.Context(), q, func(e store.Event) error { return rows.Write(csvRow(e)) }); err != nil {
			return err
		}
		rows.Flush()
		return rows.Error()
	})
}

func csvRow(e store.Event) []string {
	row := []string{
		e.At.UTC().Format(exportTime), e.Name, e.URL, e.Path, e.Referrer, e.Source, e.Medium, e.Campaign, e.Browser, e.Device, visitor(e), "",
	}
	if len(e.Props) > 0 {
		row[len(row)-1] = string(propsJSON(e.Props))
	}
	for i := range row {
		row[i] = guardCell(row[i])
	}
	return row
}

// exportTime has milliseconds, the precision of stored events.
const exportTime = "2006-01-02T15:04:05.000Z07:00"

// A spreadsheet may read a cell as a formula that begins with one of formulaStarts, some in
// their full width (OWASP, CSV Injection). It may end a cell at one of cellEnds, also between
// quotation marks: many countries separate cells by semicolons.
const (
	formulaStarts = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
	cellEnds      = ";\t\r\n"
)

// invisible are the characters that a spreadsheet may drop before it looks for a formula: spaces
// such as U+00A0, controls, formats such as U+200B and U+FEFF, and others without a glyph.
var invisible = []*unicode.RangeTable{unicode.Z, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point}

// guardCell puts an apostrophe before each formula, because anyone can choose event texts. The
// JSON export has the unchanged texts.
func guardCell(cell string) string {
	var guarded strings.Builder
	begins := true
	for _, r := range cell {
		if begins && strings.ContainsRune(formulaStarts, r) {
			guarded.WriteByte('\'')
		}
		begins = strings.ContainsRune(cellEnds, r) || begins && (r == '"' || unicode.In(r, invisible...))
		guarded.WriteRune(r)
	}
	return guarded.String()
}

// visitor returns the daily hash in hexadecimal, or "".
func visitor(e store.Event) string {
	if e.Visitor == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", e.Visitor)
}

// exportJSON exports an array with one object per line.
func (b *board) exportJSON(w http.ResponseWriter, r *http.Request, site account.Site) error {
	return b.exportTo(w, r, site, "json", func(out *bufio.Writer, q store.Query) error {
		before := "[\n"
		err := b.Store.Export(r.Context(), q, func(e store.Event) error {
			data, err := json.Marshal(exportedEvent{
				e.At.UTC().Format(exportTime), e.Name, e.URL, e.Path, e.Referrer, e.Source, e.Medium, e.Campaign,
				e.Browser, e.Device, visitor(e), propsJSON(e.Props),
			})
			if err != nil {
				return err
			}
			_, _ = out.WriteString(before) // the Writer keeps its error
			before = ",\n"
			_, err = out.Write(data)
			return err
		})
		if err != nil {
			return err
		}
		if before == "[\n" {
			_, _ = out.WriteString("[")
		}
		_, err = out.WriteString("\n]\n")
		return err
	})
}

// exportedEvent has the members of exportColumns.
type exportedEvent struct {
	At       string          `json:"at"`
	Name     string          `json:"name"` // "" for a pageview
	URL      string          `json:"url"`
	Path     string          `json:"path"`
	Referrer string          `json:"referrer"`
	Source   string          `json:"utm_source"`
	Medium   string          `json:"utm_medium"`
	Campaign string          `json:"utm_campaign"`
	Browser  string          `json:"browser"` // "" for an event of a server
	Device   string          `json:"device"`
	Visitor  string          `json:"visitor"`
	Props    json.RawMessage `json:"props"`
}

// propsJSON returns an object with the props in the order they were sent, and numbers as they
// were written.
func propsJSON(props []store.Prop) []byte {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, p := range props {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(quoted(p.Key))
		out.WriteByte(':')
		if p.Numeric && json.Valid([]byte(p.Value)) {
			out.WriteString(p.Value)
		} else {
			out.Write(quoted(p.Value))
		}
	}
	out.WriteByte('}')
	return out.Bytes()
}

func quoted(s string) []byte {
	data, _ := json.Marshal(s) // cannot fail for a string
	return data
}
