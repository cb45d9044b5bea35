package footfall_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
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
