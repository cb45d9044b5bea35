package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// writeProxy writes the public modules as they are in the tree to a module proxy of files below
// dir, at version.
func writeProxy(t *testing.T, r *repo, dir, version string) {
	t.Helper()
	files := r.files(t)
	for _, m := range r.public() {
		escaped, err := module.EscapePath(m.path())
		require.NoError(t, err)
		folder := filepath.Join(dir, filepath.FromSlash(escaped), "@v")
		require.NoError(t, os.MkdirAll(folder, 0o755))
		info, err := json.Marshal(struct {
			Version string
			Time    time.Time
		}{version, time.Now().UTC()})
		require.NoError(t, err)
		modFile, err := os.ReadFile(r.modFile(m))
		require.NoError(t, err)
		for name, text := range map[string]string{"list": version + "\n", version + ".info": string(info), version + ".mod": string(modFile)} {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
		}
		archive, err := os.Create(filepath.Join(folder, version+".zip"))
		require.NoError(t, err)
		require.NoError(t, zip.Create(archive, module.Version{Path: m.path(), Version: version}, within(m, files)))
		require.NoError(t, archive.Close())
	}
}

// files returns the files that git tracks or would add.
func (r *repo) files(t *testing.T) (names []string) {
	t.Helper()
	out, err := output(t.Context(), r.dir, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	require.NoError(t, err)
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(r.dir, filepath.FromSlash(name))); err == nil { // not deleted
			names = append(names, name)
		}
	}
	return names
}

// within returns the files below the folder of m. zip.Create leaves out nested modules.
func within(m mod, files []string) (in []zip.File) {
	for _, name := range files {
		if m.dir == "." {
			in = append(in, file{name, name})
		} else if inside, ok := strings.CutPrefix(name, m.dir+"/"); ok {
			in = append(in, file{inside, name})
		}
	}
	return in
}

// file is a zip.File of the tree.
type file struct{ inside, name string }

func (f file) disk() string                 { return filepath.Join("..", "..", filepath.FromSlash(f.name)) }
func (f file) Path() string                 { return f.inside }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.disk()) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.disk()) }

// proxies returns a GOPROXY with the modules below dir. Other modules come from the cache of this
// machine or from its proxies. They are not asked for the project's modules, so that only
// those below dir are found, and quickly.
func proxies(t *testing.T, own, dir string) string {
	t.Helper()
	list := []string{fileURL(dir), fileURL(filepath.Join(env(t, "GOMODCACHE"), "cache", "download"))}
	for proxy := range strings.FieldsFuncSeq(env(t, "GOPROXY"), func(c rune) bool { return c == ',' || c == '|' }) {
		if strings.HasPrefix(proxy, "http") {
			list = append(list, others(t, own, proxy))
		}
	}
	return strings.Join(list, ",")
}

// others starts a proxy that redirects to another one, except for modules of the owner of the
// module own, which it does not have.
func others(t *testing.T, own, proxy string) string {
	t.Helper()
	owner := "/" + path.Dir(own)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path+"/" == owner+"/" || strings.HasPrefix(r.URL.Path, owner+"/") {
			http.NotFound(w, r)
			return
		}
		http.Redirect(w, r, strings.TrimSuffix(proxy, "/")+r.URL.Path, http.StatusFound)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func fileURL(dir string) string {
	dir = filepath.ToSlash(dir)
	if !strings.HasPrefix(dir, "/") {
		dir = "/" + dir // C:/…
	}
	return "file://" + dir
}

// env returns a setting of the go command outside the workspace.
func env(t *testing.T, name string) string {
	t.Helper()
	out, err := output(t.Context(), t.TempDir(), "go", "env", name)
	require.NoError(t, err)
	return strings.TrimSpace(out)
}
