package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// folder is a module proxy made of files.
type folder string

// addTree adds the public modules at version, as they are in the tree.
func (f folder) addTree(ctx context.Context, r *repo, version string) error {
	files, err := r.files(ctx)
	if err != nil {
		return err
	}
	for _, m := range r.public() {
		modFile, err := os.ReadFile(r.modFile(m))
		if err != nil {
			return err
		}
		err = f.add(m.at(version), modFile, func(archive io.Writer) error { return zip.Create(archive, m.at(version), r.within(m, files)) })
		if err != nil {
			return err
		}
	}
	return nil
}

// addTag adds m as the tag of version has it.
func (f folder) addTag(ctx context.Context, r *repo, m mod, version string) error {
	modFile, err := output(ctx, r.dir, "git", "show", m.tag(version)+":"+path.Join(m.dir, "go.mod"))
	if err != nil {
		return err
	}
	return f.add(m.at(version), []byte(modFile), func(archive io.Writer) error {
		return zip.CreateFromVCS(archive, m.at(version), r.dir, m.tag(version), strings.TrimPrefix(m.dir, "."))
	})
}

// add adds a version of a module. create writes its archive.
func (f folder) add(v module.Version, modFile []byte, create func(io.Writer) error) error {
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{v.Version, time.Now().UTC()})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.list(v)), 0o755); err != nil {
		return err
	}
	versions, err := os.ReadFile(f.list(v))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for name, text := range map[string][]byte{
		f.list(v): append(versions, v.Version+"\n"...), f.file(v, ".info"): info, f.file(v, ".mod"): modFile,
	} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return err
		}
	}
	archive, err := os.Create(f.file(v, ".zip"))
	if err != nil {
		return err
	}
	return errors.Join(create(archive), archive.Close())
}

// file returns the name of a file of a version. The project's paths have no upper case, which a proxy escapes.
func (f folder) file(v module.Version, extension string) string {
	return filepath.Join(string(f), filepath.FromSlash(v.Path), "@v", v.Version+extension)
}

// list returns the name of the file with the versions of v's module.
func (f folder) list(v module.Version) string {
	return filepath.Join(filepath.Dir(f.file(v, "")), "list")
}

// sums returns the lines of go.sum for a version.
func (f folder) sums(v module.Version) (string, error) {
	archive, err := dirhash.HashZip(f.file(v, ".zip"), dirhash.Hash1)
	if err != nil {
		return "", err
	}
	modFile, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return os.Open(f.file(v, ".mod")) })
	return fmt.Sprintf("%s %s %s\n%[1]s %[2]s/go.mod %[4]s\n", v.Path, v.Version, archive, modFile), err
}

// files returns the files that git tracks or would add.
func (r *repo) files(ctx context.Context) (names []string, err error) {
	out, err := output(ctx, r.dir, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(r.dir, filepath.FromSlash(name))); err == nil { // not deleted
			names = append(names, name)
		}
	}
	return names, nil
}

// within returns the files below the folder of m. zip.Create leaves out nested modules.
func (r *repo) within(m mod, files []string) (in []zip.File) {
	for _, name := range files {
		disk := filepath.Join(r.dir, filepath.FromSlash(name))
		if m.dir == "." {
			in = append(in, file{name, disk})
		} else if inside, ok := strings.CutPrefix(name, m.dir+"/"); ok {
			in = append(in, file{inside, disk})
		}
	}
	return in
}

// file is a zip.File of the tree.
type file struct{ inside, disk string }

func (f file) Path() string                 { return f.inside }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.disk) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.disk) }

// proxies returns a GOPROXY with the modules of f. Other modules come from the cache of this
// machine or from its proxies. They are not asked for the project's modules, such as own, so that only
// the modules of f are found, and quickly. stop ends the proxies that it starts.
func (f folder) proxies(ctx context.Context, own string) (list string, stop func(), err error) {
	text, err := output(ctx, os.TempDir(), "go", "env", "-json", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return "", nil, err
	}
	var env struct{ GOMODCACHE, GOPROXY string }
	if err := json.Unmarshal([]byte(text), &env); err != nil {
		return "", nil, err
	}
	all := []string{fileURL(string(f)), fileURL(filepath.Join(env.GOMODCACHE, "cache", "download"))}
	var servers []*httptest.Server
	for proxy := range strings.FieldsFuncSeq(env.GOPROXY, func(c rune) bool { return c == ',' || c == '|' }) {
		if strings.HasPrefix(proxy, "http") {
			server := httptest.NewServer(others(own, proxy))
			servers = append(servers, server)
			all = append(all, server.URL)
		}
	}
	return strings.Join(all, ","), func() {
		for _, server := range servers {
			server.Close()
		}
	}, nil
}

// others redirects to a proxy, except for modules of the owner of the module own, which it does not have.
func others(own, proxy string) http.Handler {
	owner := "/" + path.Dir(own)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path+"/" == owner+"/" || strings.HasPrefix(r.URL.Path, owner+"/") {
			http.NotFound(w, r)
			return
		}
		http.Redirect(w, r, strings.TrimSuffix(proxy, "/")+r.URL.Path, http.StatusFound)
	})
}

func fileURL(dir string) string {
	dir = filepath.ToSlash(dir)
	if !strings.HasPrefix(dir, "/") {
		dir = "/" + dir // C:/…
	}
	return "file://" + dir
}
