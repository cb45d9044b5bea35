package footprint

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The sources of the programs, to be built in separate modules.
//
//go:embed programs/*/main.go hello/hello.go
var sources embed.FS

// helloPath is the import path of hello here, and ownPath its path in a program's module.
const (
	helloPath = "github.com/footfall-dev/footfall/bench/footprint/hello"
	ownModule = "example.com/hello"
	ownPath   = ownModule + "/hello"
)

// program is a program with its own module. It requires only what it needs, in the versions of
// the benchmarks' module.
type program struct {
	dir    string
	binary string
}

// build creates the module in a directory of dir, and builds its binary.
func build(ctx context.Context, dir, folder string) (*program, error) {
	p := &program{dir: filepath.Join(dir, folder)}
	p.binary = filepath.Join(p.dir, "hello.bin")
	if err := p.write(folder); err != nil {
		return nil, err
	}
	if err := p.require(ctx); err != nil {
		return nil, err
	}
	_, err := p.run(ctx, "build", "-trimpath", "-o", p.binary, ".")
	return p, err
}

func (p *program) write(folder string) error {
	text, err := sources.ReadFile("programs/" + folder + "/main.go")
	if err != nil {
		return err
	}
	hello, err := sources.ReadFile("hello/hello.go")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(p.dir, "hello"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(p.dir, "hello", "hello.go"), hello, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, "main.go"), bytes.ReplaceAll(text, []byte(helloPath), []byte(ownPath)), 0o600)
}

// require copies go.mod and go.sum of the benchmarks, without the modules that the program does
// not need.
func (p *program) require(ctx context.Context) error {
	mod, err := benchMod(ctx)
	if err != nil {
		return err
	}
	for from, to := range map[string]string{mod: "go.mod", strings.TrimSuffix(mod, ".mod") + ".sum": "go.sum"} {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(p.dir, to), text, 0o600); err != nil {
			return err
		}
	}
	edits := []string{"mod", "edit", "-module", ownModule}
	replaced, err := localReplacements(ctx, mod)
	if err != nil {
		return err
	}
	for path, dir := range replaced {
		edits = append(edits, "-replace", path+"="+dir)
	}
	if _, err := p.run(ctx, edits...); err != nil {
		return err
	}
	_, err = p.run(ctx, "mod", "tidy")
	return err
}

// benchMod returns the go.mod of the benchmarks.
func benchMod(ctx context.Context) (string, error) {
	out, err := (&program{dir: "."}).run(ctx, "env", "GOMOD")
	mod := strings.TrimSpace(string(out))
	if err == nil && filepath.Base(mod) != "go.mod" {
		err = fmt.Errorf("not run within a module, but in %q", mod)
	}
	return mod, err
}

// localReplacements returns the modules that are folders in mod, and their paths.
func localReplacements(ctx context.Context, mod string) (map[string]string, error) {
	out, err := (&program{dir: filepath.Dir(mod)}).run(ctx, "mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var file struct {
		Replace []struct{ Old, New struct{ Path string } }
	}
	if err := json.Unmarshal(out, &file); err != nil {
		return nil, err
	}
	found := make(map[string]string)
	for _, r := range file.Replace {
		if strings.HasPrefix(r.New.Path, ".") {
			found[r.Old.Path] = filepath.Join(filepath.Dir(mod), r.New.Path)
		}
	}
	return found, nil
}

// run runs the go command in the program's module.
func (p *program) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false")
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, failure.Bytes())
	}
	return out, err
}
