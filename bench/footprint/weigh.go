package footprint

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// weigh returns the figures that need no running program.
func (p *program) weigh(ctx context.Context) (f figures, err error) {
	stripped := p.binary + ".stripped"
	if _, err := p.run(ctx, "build", "-trimpath", "-ldflags=-s -w", "-o", stripped, "."); err != nil {
		return f, err
	}
	if f.size, err = sizeOf(p.binary); err != nil {
		return f, err
	}
	if f.stripped, err = sizeOf(stripped); err != nil {
		return f, err
	}
	linked, err := p.linked(ctx)
	if err != nil {
		return f, err
	}
	summed, err := os.ReadFile(filepath.Join(p.dir, "go.sum"))
	if err != nil && !os.IsNotExist(err) { // missing if nothing is required
		return f, err
	}
	f.linked, f.summed = len(linked), len(merge(linked, modulesIn(summed)))
	return f, nil
}

func sizeOf(file string) (int64, error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// linked returns the modules with a package in the program.
func (p *program) linked(ctx context.Context) (map[string]bool, error) {
	out, err := p.run(ctx, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
	if err != nil {
		return nil, err
	}
	found := make(map[string]bool)
	for path := range strings.FieldsSeq(string(out)) {
		found[path] = true
	}
	delete(found, ownModule)
	return found, nil
}

// modulesIn returns the modules in a go.sum.
func modulesIn(sum []byte) map[string]bool {
	found := make(map[string]bool)
	for line := range bytes.Lines(sum) {
		if path, _, ok := strings.Cut(string(line), " "); ok {
			found[path] = true
		}
	}
	return found
}

// merge adds the linked modules that are folders here. They have no line in go.sum, but would
// have one if they were downloaded.
func merge(linked, summed map[string]bool) map[string]bool {
	for path := range linked {
		summed[path] = true
	}
	return summed
}

// versions describes the measured versions of modules that are not folders here.
func versions(ctx context.Context, all []candidate) (string, error) {
	mod, err := benchMod(ctx)
	if err != nil {
		return "", err
	}
	bench := &program{dir: filepath.Dir(mod)}
	var told []string
	for _, c := range all {
		if c.module == "" || strings.HasPrefix(c.module, footfallModule) {
			continue
		}
		out, err := bench.run(ctx, "list", "-m", "-f", "{{.Version}}", c.module)
		if err != nil {
			return "", err
		}
		told = append(told, fmt.Sprintf("%s %s", c.name, bytes.TrimSpace(out)))
	}
	return strings.Join(told, ", "), nil
}
