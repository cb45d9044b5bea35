package footfalltest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/footfall-dev/footfall"
)

func panicsReachTheHost(t *testing.T, s Subject) {
	boom := errors.New("boom")
	tests := []struct {
		name  string
		value any
		rules []footfall.StatusClass
		want  []string // classes whose rule made an event
	}{
		{"an error", boom, []footfall.StatusClass{0, footfall.Success, footfall.Status5xx}, []string{"class 0", "class 8"}},
		{"http.ErrAbortHandler", http.ErrAbortHandler, []footfall.StatusClass{0, footfall.Status5xx}, nil},
		{"http.ErrAbortHandler, asked for", http.ErrAbortHandler, []footfall.StatusClass{footfall.Aborted}, []string{"class 16"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var rules []footfall.Rule
			for _, class := range tt.rules {
				rules = append(rules, s.rule("GET", "/panic", fmt.Sprintf("class %d", class), class))
			}
			var mu sync.Mutex
			var recovered []any
			tracker := newQuiet(t)
			site := s.serve(t, App{
				Tracker: tracker.Tracker, Rules: rules,
				Routes: []Route{{Method: "GET", Pattern: "/panic", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(tt.value) })}},
				Recovered: func(v any) {
					mu.Lock()
					defer mu.Unlock()
					recovered = append(recovered, v)
				},
			}, tracker)
			_ = rawly(t, site.URL, "GET /panic HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
			expectNames(t, site.events(), tt.want...)
			if len(recovered) != 1 || recovered[0] != tt.value {
				t.Errorf("the host recovered %v", recovered)
			}
		})
	}
}

// Not parallel: the folder of temporary files is the process's.
func uploadLeavesNoFile(t *testing.T, s Subject) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	parsed := false
	site := s.open(t, []footfall.Rule{s.rule("POST", "/upload", "uploaded", footfall.Success)},
		Route{Method: "POST", Pattern: "/upload", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if err := r.ParseMultipartForm(1 << 20); err != nil {
				t.Error(err)
				return
			}
			files, _ := filepath.Glob(filepath.Join(folder, "multipart-*"))
			parsed = len(files) > 0
		})})
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "large.bin")
	if err == nil {
		_, err = part.Write(make([]byte, 11<<20))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	resp, err := ownClient(t).Post(site.URL+"/upload", w.FormDataContentType(), &form)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	expectNames(t, site.events(), "uploaded")
	if !parsed {
		t.Error("the upload went into no file, which this row is about")
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("%d files are left in the temporary folder, %v", len(left), err)
	}
}

func errorsAreRecordedAsSeen(t *testing.T, s Subject) {
	for status, class := range map[int]string{418: "client", 409: "client", 503: "server"} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			site := s.open(t, []footfall.Rule{
				s.rule("GET", "/fails", "client", footfall.Status4xx),
				s.rule("GET", "/fails", "server", footfall.Status5xx),
				s.rule("GET", "/fails", "success", footfall.Success),
			}, Route{Method: "GET", Pattern: "/fails", Fail: status})
			resp, _ := get(t, ownClient(t), site.URL+"/fails")
			if resp.StatusCode != status {
				t.Errorf("the client saw %d", resp.StatusCode)
			}
			expectNames(t, site.events(), class)
		})
	}
}

// date matches the Date field, which may differ between two equal answers.
var date = regexp.MustCompile(`(?m)^Date: .*\r$`)

// answers are handlers whose answers a middleware must not change.
var answers = map[string]http.HandlerFunc{
	"nothing":      func(http.ResponseWriter, *http.Request) {},
	"a body":       func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
	"no content":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	"a redirect":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusSeeOther) },
	"an error":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) },
	"many headers": manyHeaders,
	"a long body": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("0123456789"), 100_000))
	},
	"two writes": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "a")
		_, _ = io.WriteString(w, "b")
	},
	"a declared length": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5")
		_, _ = io.WriteString(w, "hello")
	},
	"what was sent": func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) },
}

func manyHeaders(w http.ResponseWriter, _ *http.Request) {
	for i := range 20 {
		w.Header().Add("X-Many", fmt.Sprint(i))
	}
	w.Header().Set("Set-Cookie", "a=b; HttpOnly")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, "created")
}

func answerIsTheSame(t *testing.T, s Subject) {
	handlers := map[string]http.HandlerFunc{"trailers": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "42")
	}}
	maps.Copy(handlers, answers)
	const request = "POST /same HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nsent"
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			route := Route{Method: "POST", Pattern: "/same", Handler: handler}
			bare := rawly(t, s.openBare(t, route).URL, request)
			wrapped := rawly(t, s.open(t, []footfall.Rule{s.rule("POST", "/same", "seen", 0)}, route).URL, request)
			bare, wrapped = date.ReplaceAllString(bare, ""), date.ReplaceAllString(wrapped, "")
			if bare != wrapped || !strings.HasPrefix(bare, "HTTP/1.1 ") {
				t.Errorf("with the middleware %.400q\nwithout it %.400q", wrapped, bare)
			}
		})
	}
}
