package footfall

import (
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/pii"
)

// fuzzed is an event made of the fuzzer's input.
type fuzzed struct {
	site, name, url string
	key, text       string
	numKey          string
	i               int64
	u               uint64
	f               float64
	f32             float32
}

func (z *fuzzed) props() []Prop {
	return []Prop{
		P(z.key, z.text), P(z.numKey+"i", z.i), P(z.numKey+"u", z.u),
		P(z.numKey+"f", z.f), P(z.numKey+"g", z.f32), P(z.numKey+"i", z.i),
	}
}

// kept reports whether no later prop has the key of prop i.
func kept(props []Prop, i int) bool {
	for _, later := range props[i+1:] {
		if later.Key() == props[i].Key() {
			return false
		}
	}
	return true
}

// noLimits are Limits that no fuzzed event exceeds.
var noLimits = Limits{Name: math.MaxInt, URL: math.MaxInt, Props: math.MaxInt, PropKey: math.MaxInt, PropText: math.MaxInt}

// isSendableText reports whether a text has neither invalid UTF-8 nor a NUL.
func isSendableText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// sendable reports whether the event may be sent. It uses the standard library only.
func (z *fuzzed) sendable() bool {
	u, err := url.Parse(z.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return false
	}
	if strings.TrimSpace(z.site) == "" || strings.TrimSpace(z.name) == "" {
		return false
	}
	props := z.props()
	for i, p := range props {
		if kept(props, i) && !sendableProp(p) {
			return false
		}
	}
	controls := strings.ContainsFunc(z.url, func(r rune) bool { return r < ' ' || r == 0x7f })
	return isSendableText(z.site) && isSendableText(z.name) && utf8.ValidString(z.url) && !controls
}

func sendableProp(p Prop) bool {
	if p.Key() == "" || !isSendableText(p.Key()) {
		return false
	}
	switch v := p.Value().(type) {
	case string:
		return isSendableText(v)
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case float32:
		return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
	}
	return true
}

func FuzzEncodeMeansTheSameAsEncodingJSON(f *testing.F) {
	f.Add("site_1", "signup", "https://example.com/", "plan", "pro", "n", int64(1), uint64(1), 0.1, float32(0.1))
	f.Add("<s>", `"&\`, "https://example.com/?a=1&b=<2>", "n", "\u2028\x00\x7f", "", int64(math.MinInt64), uint64(math.MaxUint64), math.MaxFloat64, float32(math.MaxFloat32))
	f.Add(" ", "", "/relative", "", "\xff", "\xff", int64(math.MaxInt64), uint64(0), math.NaN(), float32(math.Inf(1)))
	f.Add("s", "n", "javascript:alert(1)", "k", "😀", "ni", int64(-1), uint64(1<<53+1), math.SmallestNonzeroFloat64, float32(1e-7))
	f.Add("s", "n", "https://u:p@example.com/", "k", "v", "k", int64(0), uint64(1), math.Copysign(0, -1), float32(1e21))
	f.Add("s", "n", "", "k", "v", "k", int64(0), uint64(1), 0.0, float32(0))
	f.Add("s", "n", "https://example.com/#\x7f", "k", "v", "k", int64(0), uint64(1), 0.0, float32(0))
	f.Add("s", "n", "https://example.com/", "k\x00", "v", "k", int64(0), uint64(1), 0.0, float32(0))
	f.Add("s", "n\x00", "https://example.com/", "k", "v", "k", int64(0), uint64(1), 0.0, float32(0))
	f.Add("s", "n", "HTTP://[::1]:80/%41", "k", "v", "k", int64(0), uint64(1), 1e21, float32(1e-6))
	f.Fuzz(func(t *testing.T, site, name, url, key, text, numKey string, i int64, u uint64, fl float64, f32 float32) {
		z := fuzzed{site, name, url, key, text, numKey, i, u, fl, f32}
		e := newEncoder("", "", math.MaxInt, noLimits, pii.New(true, nil))
		d := draft{siteID: site, name: name, url: url, props: z.props()}
		body, _, err := e.append(make([]byte, 0, 4096), &d) // with room for plain props
		require.Equal(t, z.sendable(), err == nil, "%+v: %v", z, err)
		if err != nil {
			assertRefusal(t, &z, err)
			return
		}
		assertSameMeaning(t, &z, body)
	})
}

func assertRefusal(t *testing.T, z *fuzzed, err error) {
	t.Helper()
	if z.url == "" && errors.Is(err, ErrNoURL) {
		return
	}
	field, ok := errors.AsType[*FieldError](err)
	require.True(t, ok, "%T", err)
	for _, value := range []string{z.site, z.name, z.url, z.text} {
		// A short value may occur in the text of the error. A key may contain the value.
		if len(value) > 24 && !strings.Contains(z.key, value) && !strings.Contains(z.numKey, value) {
			assert.NotContains(t, field.Error(), value)
		}
	}
}

func assertSameMeaning(t *testing.T, z *fuzzed, body []byte) {
	t.Helper()
	var got struct {
		SiteID string         `json:"site_id"`
		Name   string         `json:"name"`
		URL    string         `json:"url"`
		Props  map[string]any `json:"props"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.UseNumber() // a float64 would hide a wrong last digit
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&got), "%q", body)
	assert.False(t, decoder.More())
	assert.Equal(t, [3]string{z.site, z.name, z.url}, [3]string{got.SiteID, got.Name, got.URL})
	props := z.props()
	distinct := 0
	for i, p := range props {
		if kept(props, i) {
			distinct++
			assertSameValue(t, p.Value(), got.Props[p.Key()])
		}
	}
	assert.Len(t, got.Props, distinct)
}

func assertSameValue(t *testing.T, want, got any) {
	t.Helper()
	number, isNumber := got.(json.Number)
	_, isText := want.(string)
	require.Equal(t, !isText, isNumber, "%T for a %T", got, want)
	switch want := want.(type) {
	case string:
		assert.Equal(t, want, got)
	case int64:
		assert.Equal(t, strconv.FormatInt(want, 10), number.String())
	case uint64:
		assert.Equal(t, strconv.FormatUint(want, 10), number.String())
	case float64, float32:
		written, err := json.Marshal(want)
		require.NoError(t, err)
		assert.Equal(t, string(written), number.String())
	}
}

// The client chooses host, path and query. Every accepted page makes a URL that the encoder
// accepts as an explicit one.
func FuzzPageOfAnyRequestMakesAURL(f *testing.F) {
	f.Add("example.com", "/a b", "", "utm_source=x&token=y")
	f.Add("[::1]:80", "/a/b", "/a%2Fb", "ref=%zz&source=\"")
	f.Add("evil.com/\"", "*", "", "utm_=<>&&&utm_x=joe%40example.com")
	f.Add("a:80", "/\xff\x00", "/%ff%00", "utm_\xff=1")
	f.Add("a.b", "/[x]", "/[x]", "ref=a#b")
	f.Fuzz(func(t *testing.T, host, path, rawPath, query string) {
		page := Page{rules: pagerOf(Config{}), https: true, host: host, path: path, rawPath: rawPath, query: query}
		if !page.usable() {
			assert.Empty(t, page.String())
			return
		}
		text := page.String()
		require.Empty(t, checkUnusualURL(text), "%q", text)
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		e := newEncoder("s", "", math.MaxInt, noLimits, pii.New(true, nil))
		body, _, err := e.append(nil, &draft{name: "n", page: &page})
		require.NoError(t, err)
		var got struct{ URL json.RawMessage }
		require.NoError(t, json.Unmarshal(body, &got), "%q", body)
		var plain, marshalled string
		require.NoError(t, json.Unmarshal(got.URL, &plain))
		require.NoError(t, json.Unmarshal(quoted, &marshalled))
		assert.Equal(t, marshalled, plain)
	})
}
