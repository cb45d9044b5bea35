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

// asset is a file that pages refer to.
type asset struct {
	content []byte
	mime    string
}

// assets are found by names that have a hash of the content in them, so that browsers
// may keep them for ever.
type assets struct {
	byHash map[string]asset
	hashed map[string]string // app.css to app.0123456789ab.css
}

func loadAssets() assets {
	a := assets{byHash: make(map[string]asset), hashed: make(map[string]string)}
	names, err := fs.Glob(files, "assets/*")
	if err != nil {
		panic(err) // a pattern that is wrong, or
	}
	for _, name := range names {
		content, err := files.ReadFile(name)
		if err != nil {
			panic(err) // a file that the program was built with and has not: neither happens
		}
		sum := sha256.Sum256(content)
		ext := path.Ext(name)
		hashed := strings.TrimSuffix(path.Base(name), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		a.hashed[path.Base(name)] = hashed
		a.byHash[hashed] = asset{content, mime.TypeByExtension(ext)}
	}
	return a
}

// url is the address of an asset; it panics for one that is not there.
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
