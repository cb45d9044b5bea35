package main

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/doctor"
	"github.com/footfall-dev/footfall/footfalltest"
)

// examined runs doctor -json, and returns its findings by check.
func examined(t *testing.T, e env, args ...string) (findings map[string]doctor.Finding, status int) {
	t.Helper()
	got := run(t, e, append([]string{"doctor", "-json"}, args...)...)
	var r doctor.Report
	require.NoError(t, json.Unmarshal([]byte(got.out), &r), "%+v", got)
	assert.Equal(t, got.status == 0, r.OK)
	findings = make(map[string]doctor.Finding)
	for _, f := range r.Findings {
		findings[f.Check] = f
		if f.Level == doctor.Bad {
			assert.True(t, f.Remedy != "" || strings.Contains(f.Found, "set"), "%+v says nothing to do", f)
		}
	}
	return findings, got.status
}

func TestDoctorFindsNothingWrong(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	got := run(t, envOf(api.URL), "doctor", "-send")
	assert.Equal(t, 0, got.status, got)
	assert.Empty(t, got.err)
	for _, line := range []string{
		`ok    FOOTFALL_BASE_URL +` + api.URL + ` \(from the environment\)`,
		`ok    FOOTFALL_API_KEY +set, 8 characters \(from the environment\)`,
		`ok    FOOTFALL_DEFAULT_URL +not set: events without a page are refused`,
		`skip  DNS +127\.0\.0\.1 is an address`, `ok    connection +127\.0\.0\.1:\d+ in `, `skip  TLS +plain http`,
		`ok    clock +`, `ok    API +GET /v1/sites answered in`, `ok    key +accepted`, `ok    site +site_test is example\.com`,
		`ok    event +accepted: footfall_doctor on https://example\.com/`,
	} {
		assert.Regexp(t, line, got.out)
	}
	assert.NotContains(t, got.out, footfalltest.Key, "the key is a secret")
	require.Len(t, api.Events(), 1)
	assert.Equal(t, "https://example.com/", api.Events()[0].URL)

	findings, status := examined(t, envOf(api.URL))
	assert.Equal(t, 0, status)
	assert.Equal(t, doctor.Skipped, findings["event"].Level)
	assert.Len(t, api.Events(), 1, "nothing is sent without -send")
}

func TestDoctorNamesWrongSettings(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ variable, value, found, remedy string }{
		"no address":  {"FOOTFALL_BASE_URL", "", "set it to the address", ""},
		"no URL":      {"FOOTFALL_BASE_URL", "127.0.0.1:8090", "not a URL", "such as https://stats.example.com"},
		"plain http":  {"FOOTFALL_BASE_URL", "http://stats.example.com", "FOOTFALL_ALLOW_HTTP=true", "such as https://stats.example.com"},
		"with a path": {"FOOTFALL_BASE_URL", "https://stats.example.com/v1/events", "omit /v1", "such as https://stats.example.com"},
		"no key":      {"FOOTFALL_API_KEY", "", "set it to an API key", ""},
		"quoted key":  {"FOOTFALL_API_KEY", `"secret"`, "begins with a quotation mark", "as the dashboard showed it"},
		"no site":     {"FOOTFALL_SITE_ID", "", "not set", "footfall sites lists them"},
		"no bool":     {"FOOTFALL_ALLOW_HTTP", "maybe", "neither true nor false", "true or false"},
		"no flag":     {"FOOTFALL_DISABLED", "maybe", "neither true nor false", "true or false"},
		"no proxies":  {"FOOTFALL_TRUSTED_PROXIES", "10.0.0.0/8, nginx", "entry 2", "such as 10.0.0.0/8,::1"},
		"no page":     {"FOOTFALL_DEFAULT_URL", "example.com", "not absolute", "such as https://shop.example.com/worker"},
		"no public":   {"FOOTFALL_PUBLIC_URL", "https://a/?b", "without a query", "such as https://shop.example.com"},
	} {
		findings, status := examined(t, envOf("http://127.0.0.1:1").with(row.variable, row.value))
		assert.Equal(t, 2, status, name)
		assert.Equal(t, doctor.Bad, findings[row.variable].Level, name)
		assert.Contains(t, findings[row.variable].Found, row.found, name)
		assert.Contains(t, findings[row.variable].Remedy, row.remedy, name)
		assert.Equal(t, doctor.Skipped, findings["network"].Level, "nothing is asked")
	}
	api := footfalltest.NewAPI(t)
	findings, status := examined(t, envOf(api.URL).with("FOOTFALL_DISABLED", "true"))
	assert.Equal(t, 0, status)
	assert.Equal(t, doctor.Warn, findings["FOOTFALL_DISABLED"].Level)
	findings, status = examined(t, envOf(api.URL).with("FOOTFALL_DISABLED", "true"), "-send")
	assert.Equal(t, 1, status)
	assert.Equal(t, doctor.Bad, findings["event"].Level)
	assert.Contains(t, findings["event"].Remedy, "unset it")
	assert.Empty(t, api.Events())
}

func TestDoctorWarnsOfVariablesThatNothingReads(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	e := envOf(api.URL).with("FOOTFALL_DEFAULT_UR", "https://example.com/").with("FOOTFALL_APIKEY", "secret-4").with("FOOTFALL_RETENTION", "90d")
	findings, status := examined(t, e)
	assert.Equal(t, 0, status, "a warning")
	checked(t, findings, "FOOTFALL_DEFAULT_UR", doctor.Warn, "no part of Footfall reads this variable", "the nearest one is FOOTFALL_DEFAULT_URL")
	checked(t, findings, "FOOTFALL_APIKEY", doctor.Warn, "no part of Footfall reads this variable", "the nearest one is FOOTFALL_API_KEY")
	assert.NotContains(t, findings, "FOOTFALL_RETENTION", "the collector reads it")
	assert.NotContains(t, fmt.Sprint(findings), "secret-4")
	findings, status = examined(t, env{"FOOTFALL_BASE_URL": api.URL, "FOOTFALL_SITE_ID": "s", "FOOTFALL_APIKEY": "secret-4"})
	assert.Equal(t, 2, status)
	checked(t, findings, "FOOTFALL_APIKEY", doctor.Warn, "", "")
}

// plain returns the address of a server with one handler.
func plain(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestDoctorSaysWhichServiceAnswers(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	html := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Server", "nginx/1.29.0")
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			_, _ = w.Write([]byte("<html>\r\n<head><title>404 Not Found</title></head>\r\n<body><center><h1>404 Not Found</h1></center></body></html>\r\n"))
		}
	}
	for name, row := range map[string]struct {
		e             env
		check         string
		found, remedy string
	}{
		"nginx 404": {envOf(plain(t, html(404))), "API", "404 Not Found", "something other than the API answers"},
		"nginx 200": {envOf(plain(t, html(200))), "API", "without the documented JSON", "something other than the API answers"},
		"nginx 502": {envOf(plain(t, html(502))), "API", "502", "the service has trouble"},
		"redirect": {envOf(plain(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://stats.example.com"+r.URL.Path, http.StatusMovedPermanently)
		})), "API", "301", `redirects to "https://stats.example.com/v1/sites"`},
		"refused key":  {envOf(api.URL).with("FOOTFALL_API_KEY", "other"), "key", "401", "issue a key in the dashboard"},
		"missing site": {envOf(api.URL).with("FOOTFALL_SITE_ID", "site_none"), "site", `no site "site_none"`, "site_test (example.com)"},
		"domain":       {envOf(api.URL).with("FOOTFALL_SITE_ID", "example.com"), "site", `no site "example.com"`, "set FOOTFALL_SITE_ID to site_test"},
		"unknown name": {envOf("https://stats.footfall.invalid"), "DNS", "stats.footfall.invalid", "FOOTFALL_BASE_URL"},
		"no server":    {envOf("http://127.0.0.1:1"), "connection", "refused", "check the port"},
		"a path":       {envOf(api.URL + "/stats"), "API", "404", "path of FOOTFALL_BASE_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findings, status := examined(t, row.e, "-send")
			assert.Equal(t, 1, status)
			f := findings[row.check]
			assert.Equal(t, doctor.Bad, f.Level, "%+v", findings)
			assert.Contains(t, f.Found, row.found)
			assert.Contains(t, f.Remedy, row.remedy)
			assert.NotContains(t, findings, "event", "nothing is sent")
		})
	}
}

// certificate writes the certificate of a server to a file that a program may trust.
func certificate(t *testing.T, server *httptest.Server) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "roots.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(name, text, 0o600))
	return name
}

// before returns a proxy of an API that may change answers.
func before(t *testing.T, api *footfalltest.API, change func(*http.Response) error) http.Handler {
	t.Helper()
	target, err := url.Parse(api.URL)
	require.NoError(t, err)
	return &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: change,
	}
}

func TestDoctorChecksTLS(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	server := httptest.NewUnstartedServer(before(t, api, nil))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients refuse its certificate
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := certificate(t, server)

	findings, status := examined(t, envOf(server.URL).with("SSL_CERT_FILE", roots), "-send")
	assert.Equal(t, 0, status, "%+v", findings)
	assert.Contains(t, findings["TLS"].Found, "TLS 1.3, the certificate is valid until 2084")
	assert.Len(t, api.Events(), 1)

	for name, row := range map[string]struct {
		e      env
		remedy string
	}{
		"unknown authority": {envOf(server.URL), "does not trust the certificate's authority"},
		"another host":      {envOf(strings.Replace(server.URL, "127.0.0.1", "localhost", 1)).with("SSL_CERT_FILE", roots), "the certificate is for another host"},
		"no TLS":            {envOf(strings.Replace(api.URL, "http://", "https://", 1)), "does not speak TLS"},
	} {
		findings, status := examined(t, row.e)
		assert.Equal(t, 1, status, name)
		assert.Equal(t, doctor.Bad, findings["TLS"].Level, "%s: %+v", name, findings)
		assert.Contains(t, findings["TLS"].Remedy, row.remedy, name)
		assert.Equal(t, doctor.Skipped, findings["API"].Level, name)
	}
}

func TestDoctorComparesClocks(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	for shift, want := range map[time.Duration]struct {
		level doctor.Level
		found string
	}{
		10 * time.Minute:  {doctor.Warn, "behind the server's"},
		-10 * time.Minute: {doctor.Warn, "ahead of the server's"},
		0:                 {doctor.Good, "within a second"},
	} {
		server := httptest.NewServer(before(t, api, func(r *http.Response) error {
			r.Header.Set("Date", time.Now().Add(shift).UTC().Format(http.TimeFormat))
			return nil
		}))
		findings, status := examined(t, envOf(server.URL))
		server.Close()
		assert.Equal(t, 0, status, "a warning is no failure")
		assert.Equal(t, want.level, findings["clock"].Level, "%v: %+v", shift, findings["clock"])
		assert.Contains(t, findings["clock"].Found, want.found)
	}
}

// The API describes a paused site as it describes one without recent events.
func TestDoctorWarnsOfASiteThatMayBePaused(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	server := httptest.NewServer(before(t, api, func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		body = bytes.Replace(body, []byte(`"tracking_active":true`), []byte(`"tracking_active":false`), 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		return err
	}))
	t.Cleanup(server.Close)
	findings, status := examined(t, envOf(server.URL), "-send")
	assert.Equal(t, 0, status, "a new site is no failure")
	checked(t, findings, "site", doctor.Warn, "site_test is example.com, paused or without recent events", "resume it in its settings")
	checked(t, findings, "event", doctor.Good, "accepted", "")
	findings, _ = examined(t, envOf(api.URL))
	checked(t, findings, "site", doctor.Good, "site_test is example.com", "")
}

func TestDoctorSaysWhyTheEventWasRefused(t *testing.T) {
	t.Parallel()
	for status, remedy := range map[int]string{409: "resume the site", 400: "pages of its own domain", 500: "log of the service"} {
		api := footfalltest.NewAPI(t)
		api.Always(footfalltest.Status(status))
		findings, code := examined(t, envOf(api.URL), "-send")
		assert.Equal(t, 1, code)
		assert.Equal(t, doctor.Bad, findings["event"].Level)
		assert.Contains(t, findings["event"].Remedy, remedy)
	}
	findings, code := examined(t, envOf(footfalltest.NewAPI(t).URL), "-send", "-url", "https://example.com/"+strings.Repeat("a", 2048))
	assert.Equal(t, 1, code)
	assert.Contains(t, findings["event"].Found, "url: longer than 2048 bytes")
	assert.Equal(t, "set -url or FOOTFALL_DEFAULT_URL to a page, such as https://example.com/", findings["event"].Remedy)
}

// An answer may come from anything at the address.
func TestAnAnswerCannotSteerATerminal(t *testing.T) {
	t.Parallel()
	url := plain(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": "bad\x1b[31m", "message": "none\u009b2J\x7f", "status": 404})
	})
	for _, args := range [][]string{{"doctor"}, {"sites"}, {"send", "x", "-url", "https://example.com/"}} {
		got := run(t, envOf(url), args...)
		assert.Equal(t, 1, got.status)
		assert.Contains(t, got.out+got.err, "the API answered 404 bad?[31m: none?2J?", args)
		assert.NotContains(t, got.err, "footfall: footfall: ", args)
	}
}

// through sets a proxy of HTTP. Requests to a loopback address would not use it.
func through(proxy, scheme string) env {
	e := envOf(scheme+"://stats.footfall.invalid").with("FOOTFALL_ALLOW_HTTP", "true")
	return e.with("HTTP_PROXY", proxy).with("HTTPS_PROXY", proxy)
}

func TestDoctorNamesTheProxyThatFails(t *testing.T) {
	t.Parallel()
	closed := plain(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.WriteHeader(http.StatusProxyAuthRequired)
	})
	gone := "http://" + freeAddress(t)
	for _, scheme := range []string{"http", "https"} {
		variable := strings.ToUpper(scheme) + "_PROXY"
		findings, status := examined(t, through(closed, scheme))
		assert.Equal(t, 1, status)
		checked(t, findings, "proxy", doctor.Good, "requests go through "+closed, "")
		if scheme == "http" {
			checked(t, findings, "TLS", doctor.Warn, "the key and the events are sent in clear", "use https://")
		} else {
			assert.NotContains(t, findings, "TLS")
		}
		checked(t, findings, "API", doctor.Bad, "", "the proxy "+closed+" wants a user: add user and password to "+variable+", or add stats.footfall.invalid to NO_PROXY")
		findings, status = examined(t, through(gone, scheme))
		assert.Equal(t, 1, status)
		checked(t, findings, "API", doctor.Bad, "refused", "the proxy "+gone+" does not connect: correct "+variable+", or add stats.footfall.invalid to NO_PROXY")
	}
	findings, _ := examined(t, through("http://shop:secret-3@"+strings.TrimPrefix(closed, "http://"), "http"))
	assert.NotContains(t, fmt.Sprint(findings), "secret-3")
}

func TestDoctorDoesNotTakeASilentServerForTheAPI(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	silent := plain(t, func(http.ResponseWriter, *http.Request) { <-ended })
	t.Cleanup(func() { close(ended) })
	findings, status := examined(t, envOf(silent))
	assert.Equal(t, 1, status)
	checked(t, findings, "API", doctor.Bad, "no answer within 10s", "see that the service listens on this port, and look at its log")
	assert.NotContains(t, findings["API"].Remedy, "the address is right")
}
