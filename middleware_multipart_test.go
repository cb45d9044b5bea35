package footfall_test

import (
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

const uploadSize = 11 << 20

// upload posts a form with a field and a generated file of 11 MB.
func (s *siteUnderTest) upload(t *testing.T) int {
	t.Helper()
	body, out := io.Pipe()
	form := multipart.NewWriter(out)
	go func() {
		err := form.WriteField("title", "holiday")
		if part, partErr := form.CreateFormFile("file", "film.bin"); err == nil && partErr == nil {
			_, err = io.CopyN(part, zeros{}, uploadSize)
		}
		if err == nil {
			err = form.Close()
		}
		out.CloseWithError(err)
	}()
	r := s.request(t, http.MethodPost, "/upload", body, "Content-Type", form.FormDataContentType())
	resp, err := s.Client().Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	return resp.StatusCode
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// filesIn counts the files of a directory.
func filesIn(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	return len(entries)
}

func TestUploadLeavesNoTemporaryFileBehind(t *testing.T) {
	withoutValue := func(c *footfall.Config) { c.NoContextValue = true }
	reading := func(r *http.Request) error {
		file, _, err := r.FormFile("file")
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(io.Discard, file)
		return err
	}
	for name, tc := range map[string]struct {
		setup setup
		use   func(*http.Request) error
	}{
		"the handler reads the file":           {setup{}, reading},
		"the handler does not open it":         {setup{}, func(*http.Request) error { return nil }},
		"no context value":                     {setup{config: withoutValue}, reading},
		"with rules":                           {setup{rules: onEveryClass("POST /upload")}, reading},
		"over HTTP/2":                          {setup{http2: true}, reading},
		"over HTTP/2 without a context value":  {setup{http2: true, config: withoutValue}, reading},
		"the handler uses a copy afterwards":   {setup{}, func(r *http.Request) error { return reading(r.WithContext(context.Background())) }},
		"the handler replaces the body at end": {setup{}, func(r *http.Request) error { r.Body = http.NoBody; return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			var during int
			mux := http.NewServeMux()
			mux.HandleFunc("POST /upload", func(w http.ResponseWriter, r *http.Request) {
				if !assert.NoError(t, r.ParseMultipartForm(1<<20)) {
					return
				}
				during = filesIn(t, dir)
				assert.Equal(t, "holiday", r.PostFormValue("title"))
				assert.NoError(t, tc.use(r))
				w.WriteHeader(http.StatusCreated)
			})
			site := tc.setup.open(t, mux)
			assert.Equal(t, http.StatusCreated, site.upload(t))
			site.Close()
			assert.Equal(t, 1, during, "the upload is large enough to need a file")
			assert.Zero(t, filesIn(t, dir), "files left")
		})
	}
}

func TestOuterMiddlewareSeesTheFormThatTheHandlerParsed(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var title string
	site := setup{around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r)
			if r.MultipartForm != nil {
				title = r.MultipartForm.Value["title"][0] + r.Form.Get("title") + r.PostForm.Get("title")
			}
		})
	}}.open(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		assert.NoError(t, r.ParseMultipartForm(1<<20))
	}))
	site.upload(t)
	site.Close()
	assert.Equal(t, "holidayholidayholiday", title)
}
