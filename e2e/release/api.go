package main

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// apiFile returns the file with the exported API of m.
func (r *repo) apiFile(m mod) string {
	return filepath.Join(r.dir, "api", path.Base(m.path())+".txt")
}

// writeAPI writes the exported API of each public module to its file.
func (r *repo) writeAPI(ctx context.Context) error {
	apis, err := r.apis(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.dir, "api"), 0o755); err != nil {
		return err
	}
	for name, text := range apis {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// apis returns the exported API of each public module by the name of its file. A module of commands has none.
func (r *repo) apis(ctx context.Context) (map[string]string, error) {
	var patterns []string
	for _, m := range r.public() {
		patterns = append(patterns, "./"+path.Join(m.dir, "..."))
	}
	const mode = packages.NeedName | packages.NeedTypes | packages.NeedModule
	found, err := packages.Load(&packages.Config{Context: ctx, Dir: r.dir, Mode: mode}, patterns...)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	apis := make(map[string]string)
	for _, p := range found {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("%s: %w", p.PkgPath, p.Errors[0])
		}
		m, ok := r.sibling(p.Module.Path)
		if !ok {
			return nil, errors.New(p.Module.Path + " is not in go.work")
		}
		if p.Name == "main" || slices.Contains(strings.Split(p.PkgPath, "/"), "internal") {
			continue
		}
		if api := apiOf(p.Types); api != "" {
			apis[r.apiFile(m)] += api
		}
	}
	return apis, nil
}

// apiOf returns the exported API of a package, a line for each name, field and method, or "" if it has none.
func apiOf(p *types.Package) string {
	var lines []string
	for _, name := range p.Scope().Names() {
		if object := p.Scope().Lookup(name); object.Exported() {
			lines = append(lines, declaration(object)...)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "package " + p.Path() + "\n\n" + strings.Join(lines, "\n") + "\n\n"
}

// declaration returns the lines of an exported name of a package.
func declaration(object types.Object) []string {
	qualifier := types.RelativeTo(object.Pkg())
	line := types.ObjectString(object, qualifier)
	switch object := object.(type) {
	case *types.Const:
		return []string{line + " = " + object.Val().ExactString()}
	case *types.TypeName:
		if object.IsAlias() {
			return []string{line}
		}
		head := "type " + types.TypeString(object.Type(), qualifier)
		return append(underlying(head, object.Type().Underlying(), qualifier), methods(object, qualifier)...)
	}
	return []string{line}
}

// underlying returns the lines of a type without its methods.
func underlying(head string, t types.Type, qualifier types.Qualifier) []string {
	var lines []string
	hidden := ""
	switch t := t.(type) {
	case *types.Struct:
		for field := range t.Fields() {
			if field.Exported() {
				lines = append(lines, head+" struct, "+strings.TrimPrefix(types.ObjectString(field, qualifier), "field "))
			} else {
				hidden = " with unexported fields"
			}
		}
		return append([]string{head + " struct" + hidden}, lines...)
	case *types.Interface:
		if !t.IsMethodSet() {
			break
		}
		for method := range t.Methods() {
			if method.Exported() {
				lines = append(lines, head+" interface, "+method.Name()+signature(method, qualifier))
			} else {
				hidden = " with unexported methods"
			}
		}
		return append([]string{head + " interface" + hidden}, lines...)
	}
	return []string{head + " " + types.TypeString(t, qualifier)}
}

// methods returns the exported methods of a type that is no interface, and those that its fields promote.
func methods(object *types.TypeName, qualifier types.Qualifier) (lines []string) {
	if types.IsInterface(object.Type()) {
		return nil
	}
	ofValue := types.NewMethodSet(object.Type())
	for selection := range types.NewMethodSet(types.NewPointer(object.Type())).Methods() {
		method := selection.Obj().(*types.Func)
		if !method.Exported() {
			continue
		}
		receiver := "*" + object.Name()
		if ofValue.Lookup(method.Pkg(), method.Name()) != nil {
			receiver = object.Name()
		}
		lines = append(lines, "method ("+receiver+") "+method.Name()+signature(method, qualifier))
	}
	return lines
}

// signature returns the parameters and results of f.
func signature(f *types.Func, qualifier types.Qualifier) string {
	return strings.TrimPrefix(types.TypeString(f.Type(), qualifier), "func")
}
