package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// answers are handlers that use every method of a ResponseWriter.
var answers = map[string]http.HandlerFunc{
	"nothing written": func(http.ResponseWriter, *http.Request) {},
	"a status only":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
	"no content":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	"not modified":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) },
	"a text":          func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<p>hello") },
	"bytes":           func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0, 1, 2, 0xff}) },
	"a redirect":      func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there", http.StatusSeeOther) },
	"an error":        func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
	"many headers": func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Many"] = []string{"1", "2"}
		w.Header().Set("Content-Type", "text/x-own")
		w.Header()["x-lower"] = []string{"kept"}
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("X-Too-Late", "1")
	},
	"a length": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		_, err := io.WriteString(w, "much too long")
		if !errors.Is(err, http.ErrContentLength) {
			panic(err)
		}
	},
	"chunks": func(w http.ResponseWriter, _ *http.Request) {
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "chunk %d", i)
			_ = http.NewResponseController(w).Flush()
		}
	},
	"a flush first": func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		w.WriteHeader(http.StatusNotFound) // has no effect after the first call
		_, _ = io.WriteString(w, "x")
	},
	"a large body": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("large ", 50_000))
	},
	"a copied reader": func(w http.ResponseWriter, _ *http.Request) {
		n, err := io.Copy(w, struct{ io.Reader }{strings.NewReader(strings.Repeat("<p>", 5000))})
		if n != 15000 || err != nil {
			panic(err)
		}
	},
	"a range of content": func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Range", "bytes=2-5")
		http.ServeContent(w, r, "a.txt", time.Unix(1, 0), strings.NewReader("0123456789"))
	},
	"announced trailers": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "4")
	},
	"trailers unannounced": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "body")
		w.(http.Flusher).Flush()
		w.Header().Set(http.TrailerPrefix+"X-Sum", "4")
	},
	"early hints": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(w, "body")
	},
	"two statuses": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusInternalServerError)
	},
	"an invalid status": func(w http.ResponseWriter, _ *http.Request) {
		defer func() { http.Error(w, fmt.Sprint(recover()), http.StatusInternalServerError) }()
		w.WriteHeader(42)
	},
	"a connection that ends": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, "body")
	},
	"an abort in the middle": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	},
	"a file that is not there": func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "/nowhere") },
	"a body with HEAD":         func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "not for HEAD") },
	"a timeout": func(w http.ResponseWriter, r *http.Request) {
		http.TimeoutHandler(http.NotFoundHandler(), time.Minute, "late").ServeHTTP(w, r)
	},
}

// dated makes answers of different times comparable.
func dated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", "Thu, 01 Jan 2026 00:00:00 GMT")
		next.ServeHTTP(w, r)
	})
}

func TestAnswerIsByteIdenticalWithAndWithoutTheMiddleware(t *testing.T) {
	t.Parallel()
	rules := []footfall.Rule{{Route: "/p", PathProps: []string{"id"}}, {Route: footfall.NoRoute}}
	for name, handler := range answers {
		for _, line := range []string{"GET /p HTTP/1.1", "HEAD /p HTTP/1.1", "POST /p HTTP/1.0"} {
			t.Run(name+", "+line, func(t *testing.T) {
				t.Parallel()
				mux := mounted("/p", handler)
				bare := setup{without: true, around: dated}.open(t, mux).rawly(t, line)
				require.Contains(t, bare, "HTTP/1.")
				for _, noValue := range []bool{false, true} {
					wrapped := setup{around: dated, rules: rules, config: func(c *footfall.Config) { c.NoContextValue = noValue }}.open(t, mux)
					assert.Equal(t, bare, wrapped.rawly(t, line))
				}
			})
		}
	}
}

func TestAnswerIsTheSameOverHTTP2(t *testing.T) {
	t.Parallel()
	type answer struct {
		Status          int
		Header, Trailer http.Header
		Length          int64
		Body, Err       string
	}
	for name, handler := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := func(s setup) answer {
				s.http2, s.around = true, dated
				site := s.open(t, mounted("/p", handler))
				resp, err := site.Client().Do(site.request(t, "GET", "/p", nil))
				if reset, ok := errors.AsType[*url.Error](err); ok {
					return answer{Err: reset.Err.Error()}
				}
				defer resp.Body.Close()
				require.Equal(t, 2, resp.ProtoMajor)
				body, err := io.ReadAll(resp.Body)
				if err != nil { // how much arrives before the reset depends on timing
					return answer{Err: err.Error()}
				}
				return answer{resp.StatusCode, resp.Header, resp.Trailer, resp.ContentLength, string(body), ""}
			}
			assert.Equal(t, ask(setup{without: true}), ask(setup{rules: onEveryClass("/p")}))
		})
	}
}

// http.MaxBytesReader tells the writer of net/http to close the connection after a body that is
// too long. It uses an unexported method, so every middleware that wraps the writer, such as
// this one, loses that hint.
func TestMaxBytesReaderWorksBelowTheMiddlewareExceptForTheConnectionHeader(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4)); err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		}
	})
	ask := func(s setup) (status int, header http.Header, body string, closes bool) {
		s.around = dated
		site := s.open(t, handler)
		resp, err := site.Client().Do(site.request(t, "POST", "/", strings.NewReader("too long")))
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, resp.Header, string(text), resp.Close
	}
	status, header, body, closes := ask(setup{without: true})
	require.True(t, closes, "net/http has changed: look whether the difference is gone")
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	header.Del("Connection")
	gotStatus, gotHeader, gotBody, _ := ask(setup{})
	assert.Equal(t, status, gotStatus)
	assert.Equal(t, header, gotHeader)
	assert.Equal(t, body, gotBody)
}

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

// watched is a middleware that reads the request in another goroutine until it is answered,
// like a log of slow requests.
func watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var watcher sync.WaitGroup
		watcher.Go(func() {
			_ = r.Form.Get("q") + r.PostForm.Get("q") + r.Pattern + r.PathValue("id") + r.Method + r.Host + r.URL.Path
			_ = r.MultipartForm
		})
		next.ServeHTTP(w, r)
		watcher.Wait()
	})
}

// Run with -race.
func TestOuterMiddlewareMayReadTheRequestInAnotherGoroutine(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "shoes", r.URL.Query().Get("q"))
	})
	parsed := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.NoError(t, r.ParseForm())
			watched(next).ServeHTTP(w, r)
		})
	}
	routed := func(next http.Handler) http.Handler { return mounted("GET /products/{id}", watched(next)) }
	for name, around := range map[string]func(http.Handler) http.Handler{
		"a request without a form and a pattern":  watched,
		"a form that was parsed above":            parsed,
		"pattern and path values of a mux above":  routed,
		"a form and a pattern, both of the above": func(next http.Handler) http.Handler { return mounted("GET /products/{id}", parsed(next)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{around: around, rules: []footfall.Rule{{Route: footfall.AnyRoute}}}.open(t, handler)
			for range 20 {
				site.get(t, "/products/42?q=shoes")
			}
			site.Close()
		})
	}
}

// The maps are compared by identity, so another map with the same contents counts as changed.
func TestOuterMiddlewareSeesTheFormThatTheHandlerReplaced(t *testing.T) {
	t.Parallel()
	var form, postForm, pathValue string
	site := setup{around: func(next http.Handler) http.Handler {
		return mounted("/products/{id}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.NoError(t, r.ParseForm())
			next.ServeHTTP(w, r)
			form, postForm, pathValue = r.Form.Get("q"), r.PostForm.Get("q"), r.PathValue("id")
		}))
	}}.open(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		r.Form = map[string][]string{"q": {"boots"}}
		r.PostForm = map[string][]string{"q": {"hats"}}
		r.SetPathValue("id", "43")
	}))
	site.get(t, "/products/42?q=shoes")
	site.Close()
	assert.Equal(t, []string{"boots", "hats", "43"}, []string{form, postForm, pathValue})
}

func TestAMiddlewareBelowThatHidesThePatternIsLoggedOnce(t *testing.T) {
	every, named := footfall.Rule{Route: footfall.AnyRoute}, footfall.Rule{Route: "GET /users/{id}"}
	mux := muxOf("GET /users/{id}", "GET /orders/{id}", "OPTIONS /orders/{id}")
	timeout := http.TimeoutHandler(mux, time.Hour, "")
	for name, tc := range map[string]struct {
		rules   []footfall.Rule
		next    http.Handler
		request string
		lines   int
	}{
		"a copy":                        {[]footfall.Rule{every}, copying(mux), "GET /orders/7", 1},
		"http.TimeoutHandler":           {[]footfall.Rule{every, named}, timeout, "GET /orders/7", 1},
		"a route that a rule names":     {[]footfall.Rule{every, named}, copying(mux), "GET /users/7", 0},
		"directly around the mux":       {[]footfall.Rule{every}, mux, "GET /orders/7", 0},
		"a request that is not copied":  {[]footfall.Rule{every}, below(mux), "GET /orders/7", 0},
		"no rule for AnyRoute":          {[]footfall.Rule{named}, copying(mux), "GET /orders/7", 0},
		"a 404":                         {[]footfall.Rule{every}, copying(mux), "GET /missing", 0},
		"a method that makes no events": {[]footfall.Rule{every}, copying(mux), "OPTIONS /orders/7", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log footfalltest.Log
				tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = log.Logger() })
				handler := tracker.Middleware(tc.rules...)(tc.next)
				for range 3 {
					method, path, _ := strings.Cut(tc.request, " ")
					handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, nil))
					synctest.Wait()
				}
				assert.Equal(t, tc.lines, log.Lines(slog.LevelWarn), log.String())
				if tc.lines > 0 {
					assert.Contains(t, log.String(), "put the tracker's middleware directly around the mux")
					assert.NotContains(t, log.String(), "orders")
				}
			})
		})
	}
}

func TestABlockedLogDelaysNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = slog.New(stuckHandler{stuck}) })
		handler := tracker.Middleware(footfall.Rule{Route: footfall.AnyRoute})(copying(muxOf("GET /a")))
		began := time.Now()
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/a", nil))
		assert.Zero(t, time.Since(began))
		close(stuck)
	})
}

// stuckHandler is a slog.Handler that writes nothing until it is closed.
type stuckHandler struct{ closed chan struct{} }

func (h stuckHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h stuckHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h stuckHandler) WithGroup(string) slog.Handler            { return h }
func (h stuckHandler) Handle(context.Context, slog.Record) error {
	<-h.closed
	return nil
}
