package footfallgqlgen

import (
	"strings"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/footfall-dev/footfall"
)

// operation is the type and the name of an operation.
type operation struct{ kind, name string }

// route returns the operation as a pattern of the root: the type is in place of the method, and the
// name is the path.
func (o operation) route() string { return o.kind + " /" + o.name }

// isIn reports whether a schema has the type of the operation.
func (o operation) isIn(schema *ast.Schema) bool {
	switch ast.Operation(o.kind) {
	case ast.Query:
		return schema.Query != nil
	case ast.Mutation:
		return schema.Mutation != nil
	case ast.Subscription:
		return schema.Subscription != nil
	}
	return false
}

// operationOf reads the route of a rule. It returns the reason if it is wrong. AnyRoute and NoRoute are the
// zero operation.
func operationOf(route string) (op operation, reason string) {
	if route == footfall.AnyRoute || route == footfall.NoRoute {
		return op, ""
	}
	const wanted = "write it as type and name of an operation, such as \"query Products\""
	words := strings.Fields(route)
	if len(words) == 0 {
		return op, "empty: " + wanted
	}
	switch ast.Operation(words[0]) {
	case ast.Query, ast.Mutation, ast.Subscription:
	default:
		return op, "does not begin with query, mutation or subscription: " + wanted
	}
	if len(words) != 2 || !isName(words[1]) {
		return op, "has no name of GraphQL: " + wanted
	}
	return operation{words[0], words[1]}, ""
}

// isName reports whether s is a Name (GraphQL, section 2.1.9).
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || '9' < c) {
			return false
		}
	}
	return s != ""
}

// Limits of the names of operations that clients choose.
const (
	maxNames = 1000 // that no rule names
	maxName  = 100  // bytes
)

// routes finds the routes of operations, as patterns of the root.
type routes struct {
	named map[operation]string // by rules
	any   bool                 // a rule is for AnyRoute

	mu      sync.RWMutex
	others  map[operation]string // that AnyRoute has counted
	invited int                  // names among others that clients chose
}

// newRoutes returns the routes of rules, and the rules with these routes. A route that is no operation gets a text
// that the root refuses, and so logs.
func newRoutes(rules []footfall.Rule) (*routes, []footfall.Rule) {
	t := &routes{named: make(map[operation]string), others: make(map[operation]string)}
	var patterns []footfall.Rule
	for _, r := range rules {
		op, reason := operationOf(r.Route)
		switch {
		case reason != "":
			r.Route = strings.ReplaceAll(r.Route, "/", "")
		case r.Route == footfall.AnyRoute:
			t.any = true
		case r.Route == footfall.NoRoute:
		default:
			r.Route = op.route()
			t.named[op] = r.Route
		}
		patterns = append(patterns, r)
	}
	return t, patterns
}

// of returns the route of an operation of a validated document, or "" if no rule is for it.
func (t *routes) of(def *ast.OperationDefinition, doc *ast.QueryDocument) string {
	op := operation{string(def.Operation), def.Name}
	if route, ok := t.named[op]; ok && op.name != "" {
		return route
	}
	field, introspects := rootField(def.SelectionSet, doc)
	chosen := op.name != ""
	if !chosen {
		op.name = field
		if route, ok := t.named[op]; ok {
			return route
		}
	}
	if !t.any || introspects {
		return ""
	}
	return t.other(op, chosen)
}

// other returns the route of an operation that no rule names. The client chose its name, if chosen.
func (t *routes) other(op operation, chosen bool) string {
	if len(op.name) > maxName {
		return folded(op)
	}
	t.mu.RLock()
	route, ok := t.others[op]
	full := t.invited >= maxNames
	t.mu.RUnlock()
	if ok || chosen && full {
		if !ok {
			route = folded(op)
		}
		return route
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if chosen && t.others[op] == "" {
		if t.invited >= maxNames {
			return folded(op)
		}
		t.invited++
	}
	op.name = strings.Clone(op.name) // it is a part of the request's text
	op.kind = strings.Clone(op.kind)
	t.others[op] = op.route()
	return t.others[op]
}

// folded returns the route of the operations whose names are too many or too long. No operation has this name.
func folded(op operation) string { return op.kind + " /(other)" }

// rootField returns the name of the first root field, in the order of the document, and whether all
// root fields are for introspection. If only some are, the first other one is the first.
func rootField(set ast.SelectionSet, doc *ast.QueryDocument) (name string, introspects bool) {
	for _, selection := range set {
		var found string
		below := true
		switch s := selection.(type) {
		case *ast.Field:
			found, below = s.Name, strings.HasPrefix(s.Name, "__")
		case *ast.InlineFragment:
			found, below = rootField(s.SelectionSet, doc)
		case *ast.FragmentSpread:
			if fragment := doc.Fragments.ForName(s.Name); fragment != nil { // validation refuses cycles
				found, below = rootField(fragment.SelectionSet, doc)
			}
		}
		if !below {
			return found, false
		}
		if name == "" {
			name = found
		}
	}
	return name, true
}
