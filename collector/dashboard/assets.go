package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed assets templates
var files embed.FS

// asset is a file that pages link to.
type asset struct {
	content []byte
	mime    string
}

// assets are served under names with a hash of their content, so that browsers may cache
// them forever.
type assets struct {
	byHash map[string]asset
	hashed map[string]string // app.css to app.0123456789ab.css
}

func loadAssets() assets {
	a := assets{byHash: make(map[string]asset), hashed: make(map[string]string)}
	names, err := fs.Glob(files, "assets/*")
	if err != nil {
		panic(err) // cannot happen: the pattern is valid
	}
	for _, name := range names {
		content, err := files.ReadFile(name)
		if err != nil {
			panic(err) // cannot happen: the file is embedded
		}
		sum := sha256.Sum256(content)
		ext := path.Ext(name)
		hashed := strings.TrimSuffix(path.Base(name), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		a.hashed[path.Base(name)] = hashed
		a.byHash[hashed] = asset{content, mime.TypeByExtension(ext)}
	}
	return a
}

// url returns the path of an asset. It panics if there is none.
func (a assets) url(name string) string {
	hashed, ok := a.hashed[name]
	if !ok {
		panic("dashboard: no asset " + name)
	}
	return "/assets/" + hashed
}

func (a assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, ok := a.byHash[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", file.mime)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(file.content)
}
