package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachChangeOfTheAPIIsALine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ code, want string }{
		"a constant with its value":      {"const Most = 1 << 4", "const Most untyped int = 16"},
		"a variable":                     {"var ErrFull error", "var ErrFull error"},
		"a function":                     {"func New(c int, more ...string) error { return nil }", "func New(c int, more ...string) error"},
		"a generic function":             {"func P[V ~string](v V) {}", "func P[V ~string](v V)"},
		"an alias":                       {"type A = map[string]int", "type A = map[string]int"},
		"a type of another":              {"type D int", "type D int"},
		"a generic type":                 {"type G[T any] []T", "type G[T any] []T"},
		"fields":                         {"type C struct { A, B int; c int }", "type C struct with unexported fields\ntype C struct, A int\ntype C struct, B int"},
		"methods of values and pointers": {"type M int\nfunc (M) V() {}\nfunc (*M) P() {}\nfunc (M) u() {}", "type M int\nmethod (*M) P()\nmethod (M) V()"},
		"methods of embedded fields":     {"type e int\nfunc (e) Far() {}\ntype S struct { e }", "type S struct with unexported fields\nmethod (S) Far()"},
		"an interface":                   {"type I interface { M(x int) error; u() }", "type I interface with unexported methods\ntype I interface, M(x int) error"},
		"a constraint":                   {"type N interface { ~int | ~string }", "type N interface{~int | ~string}"},
		"nothing":                        {"func p() {}\ntype t int\nvar v int", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, "p.go", "package p\n"+c.code, 0)
			require.NoError(t, err)
			p, err := new(types.Config).Check("example.com/p", files, []*ast.File{file}, nil)
			require.NoError(t, err)
			if c.want != "" {
				c.want = "package example.com/p\n\n" + c.want + "\n\n"
			}
			assert.Equal(t, c.want, apiOf(p))
		})
	}
}
