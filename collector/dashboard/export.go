package dashboard

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/patient"
	"github.com/footfall-dev/footfall/collector/internal/spreadsheet"
	"github.com/footfall-dev/footfall/collector/store"
)

// exportColumns are the header of the CSV file and the member names of the JSON objects.
var exportColumns = []string{
	"at", "name", "url", "path", "referrer", "utm_source", "utm_medium", "utm_campaign", "browser", "device", "visitor", "props",
}

// rangeError says why the range of an export is invalid. There is no page that could show it beside
// other figures.
type rangeError string

func (e rangeError) Error() string { return "dashboard: the range of an export: " + string(e) }

// exported returns the range of an export, and the range's name in the file name.
func (b *board) exported(r *http.Request, site account.Site) (store.Query, string, error) {
	p, err := b.scopeFrom(r, site, func() (time.Time, error) { return b.Now(), nil }) // the export finds the first event
	if err != nil {
		return store.Query{}, "", err
	}
	if p.FilterProblem != "" {
		return store.Query{}, "", rangeError(p.FilterProblem)
	}
	if p.Problem != "" {
		return store.Query{}, "", rangeError(p.Problem)
	}
	if p.Name == allPeriod {
		q := store.Ever(site.ID)
		q.Zone, q.Filter = p.Zone, p.conditions
		return q, allPeriod, nil
	}
	return p.query(site.ID), p.From.Format(time.DateOnly) + "_" + p.Last().Format(time.DateOnly), nil
}

// exportTypes are the media types by kind of export.
var exportTypes = map[string]string{"csv": "text/csv; charset=utf-8", "json": "application/json"}

// exportFile writes the events of an export in a format. After the last event follows a call to end
// or cut.
type exportFile interface {
	event(store.Event) error
	end() error
	cut(notice string) error // programs must not be able to read the file as a complete one
}

// errStopping is returned for an export that ends because Config.EndExports is closed.
var errStopping = errors.New("dashboard: the service is stopping")

// exportTo streams the events of the range, with constant memory.
func (b *board) exportTo(w http.ResponseWriter, r *http.Request, site account.Site, kind string, format func(*bufio.Writer) exportFile) error {
	q, span, err := b.exported(r, site)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", exportTypes[kind])
	w.Header().Set("Content-Disposition", `attachment; filename="`+fileName(site.Domain)+"_"+span+"."+kind+`"`)
	if r.Method == http.MethodHead {
		return nil
	}
	to := patient.New(w, patience) // the server's write deadline is too short for a large export
	out := bufio.NewWriterSize(to, 32<<10)
	file := format(out)
	written, err := b.writeEvents(r, q, file)
	if err == nil {
		err = errors.Join(file.end(), out.Flush())
	}
	if err != nil && to.Begun() {
		b.logCut(r, site, written, err)
		_ = file.cut(cutNotice(written, err)) // fails if the client is gone
		_ = out.Flush()
		_ = to.FlushError()
		panic(http.ErrAbortHandler) // cuts the connection, so that the answer does not end like a complete one
	}
	if err != nil {
		w.Header().Del("Content-Disposition")
	}
	return err
}

// writeEvents writes the events of q, and returns their number.
func (b *board) writeEvents(r *http.Request, q store.Query, file exportFile) (written int64, err error) {
	err = b.Store.Export(r.Context(), q, func(e store.Event) error {
		select {
		case <-b.EndExports:
			return errStopping
		default:
		}
		if err := file.event(e); err != nil {
			return err
		}
		written++
		return nil
	})
	return written, err
}

func (b *board) logCut(r *http.Request, site account.Site, written int64, err error) {
	if r.Context().Err() == nil { // else the client has cut it
		b.Logger.ErrorContext(r.Context(), "dashboard: an export was cut", "site", site.ID, "events", written, "error", err)
	}
}

// cutNotice is the last text of an export that was cut.
func cutNotice(written int64, err error) string {
	reason := "of an error, which the log of the service describes"
	switch {
	case errors.Is(err, errStopping), errors.Is(err, store.ErrClosed):
		reason = "the service was stopped"
	case errors.Is(err, store.ErrRemoved):
		reason = "other events of its range were removed meanwhile"
	}
	return "This export is incomplete: it ended after " + plural(written, "event") + " because " + reason + ". Export again."
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

// exportCSV exports CSV with a header line. Package spreadsheet guards cells that look like formulas.
func (b *board) exportCSV(w http.ResponseWriter, r *http.Request, site account.Site) error {
	return b.exportTo(w, r, site, "csv", func(out *bufio.Writer) exportFile {
		rows := csv.NewWriter(out)
		_ = rows.Write(exportColumns) // out keeps its error
		return csvFile{rows}
	})
}

type csvFile struct{ *csv.Writer }

func (f csvFile) event(e store.Event) error { return f.Write(csvRow(e)) }

func (f csvFile) end() error {
	f.Flush()
	return f.Error()
}

// cut writes a row with a single cell, which is an error for programs.
func (f csvFile) cut(notice string) error { return errors.Join(f.Write([]string{notice}), f.end()) }

func csvRow(e store.Event) []string {
	row := []string{
		e.At.UTC().Format(exportTime), e.Name, e.URL, e.Path, e.Referrer, e.Source, e.Medium, e.Campaign, e.Browser, e.Device, visitor(e), "",
	}
	if len(e.Props) > 0 {
		row[len(row)-1] = string(propsJSON(e.Props))
	}
	for i := range row {
		row[i] = spreadsheet.Guard(row[i])
	}
	return row
}

// exportTime has milliseconds, the precision of stored events.
const exportTime = "2006-01-02T15:04:05.000Z07:00"

// visitor returns the daily hash in hexadecimal, or "".
func visitor(e store.Event) string {
	if e.Visitor == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", e.Visitor)
}

// exportJSON exports an array with one object per line.
func (b *board) exportJSON(w http.ResponseWriter, r *http.Request, site account.Site) error {
	return b.exportTo(w, r, site, "json", func(out *bufio.Writer) exportFile {
		return &jsonFile{out, "[\n"}
	})
}

type jsonFile struct {
	*bufio.Writer
	before string // the next object
}

func (f *jsonFile) event(e store.Event) error {
	return f.object(exportedEvent{
		e.At.UTC().Format(exportTime), e.Name, e.URL, e.Path, e.Referrer, e.Source, e.Medium, e.Campaign,
		e.Browser, e.Device, visitor(e), propsJSON(e.Props),
	})
}

func (f *jsonFile) object(of any) error {
	data, err := json.Marshal(of)
	if err != nil {
		return err
	}
	_, _ = f.WriteString(f.before) // the Writer keeps its error
	f.before = ",\n"
	_, err = f.Write(data)
	return err
}

func (f *jsonFile) end() error {
	if f.before == "[\n" {
		_, _ = f.WriteString("[")
	}
	_, err := f.WriteString("\n]\n")
	return err
}

// cut writes an object in the form of the API's errors, and does not end the array.
func (f *jsonFile) cut(notice string) error {
	err := f.object(struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}{"export_incomplete", notice})
	return errors.Join(err, f.WriteByte('\n'))
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
