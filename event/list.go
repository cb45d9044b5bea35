package event

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Info describes a definition.
type Info struct {
	Name     string     `json:"name"`
	Type     string     `json:"type"`               // of the values, such as "shop.OrderPlaced"
	Props    []PropInfo `json:"props"`              // in the order of the fields
	Mistakes []string   `json:"mistakes,omitempty"` // those of [Definition.Err]
}

// PropInfo describes a prop of a definition.
type PropInfo struct {
	Key      string `json:"key"`
	Type     string `json:"type"`               // "string" or "number"
	Field    string `json:"field"`              // such as "Amount", or "Order.Amount" of the embedded struct Order
	Optional bool   `json:"optional,omitempty"` // the field has omitempty, or is a pointer
}

func infoOf(fields []field) []PropInfo {
	props := make([]PropInfo, 0, len(fields))
	for i := range fields {
		f := &fields[i]
		p := PropInfo{Key: f.key, Type: "number", Field: f.path, Optional: f.omitEmpty || f.pointer}
		if f.kind == reflect.String {
			p.Type = "string"
		}
		props = append(props, p)
	}
	return props
}

// defined has the definitions of the program, in the order of their calls to Define.
var defined struct {
	sync.Mutex
	all []Info
}

// register adds a definition to the list, unless the list has the same one already. If another one has its name,
// this is a mistake, too.
func (p *parser) register(info Info) {
	defined.Lock()
	defer defined.Unlock()
	for i := range defined.all {
		if defined.all[i].Name == info.Name {
			p.mistake("", "name: the earlier definition with "+defined.all[i].Type+" has the same")
			break
		}
	}
	for _, m := range p.mistakes {
		info.Mistakes = append(info.Mistakes, strings.TrimPrefix(m.Error(), "footfall: "))
	}
	if !slices.ContainsFunc(defined.all, func(known Info) bool { return reflect.DeepEqual(known, info) }) {
		defined.all = append(defined.all, info)
	}
}

// All returns the definitions of the program, sorted by name. Definitions of the same name are in the order of their
// calls to Define.
func All() []Info {
	defined.Lock()
	defer defined.Unlock()
	all := make([]Info, len(defined.all))
	for i, info := range defined.all {
		info.Props, info.Mistakes = slices.Clone(info.Props), slices.Clone(info.Mistakes)
		all[i] = info
	}
	slices.SortStableFunc(all, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// WriteJSON writes [All] as an indented JSON array of objects with the fields of [Info], and a line feed.
func WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(All()); err != nil {
		return fmt.Errorf("event: %w", err)
	}
	return nil
}
