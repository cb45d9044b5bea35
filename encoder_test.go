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

// plainEncoder is the encoder of a tracker with the documented defaults.
func plainEncoder() encoder {
	return newEncoder("site_1", "https://example.com/", 32<<10, Limits{}.withDefaults(), pii.New(false, nil))
}

// draftOf returns a valid draft with the given props.
func draftOf(props ...Prop) draft {
	return draft{name: "signup", url: "https://example.com/signup", props: props}
}

// mustEncode returns the body of d and the number of values that the guard replaced.
func mustEncode(t testing.TB, e encoder, d draft) (body string, redacted int) {
	t.Helper()
	out, redacted, err := e.append(nil, &d)
	require.NoError(t, err)
	require.True(t, json.Valid(out), "not JSON: %q", out)
	return string(out), redacted
}

// propsOf decodes the props of a body.
func propsOf(t testing.TB, body string) map[string]any {
	t.Helper()
	var e struct{ Props map[string]any }
	require.NoError(t, json.Unmarshal([]byte(body), &e))
	return e.Props
}

func TestEncodeWritesTheBodyOfTheContract(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		draft draft
		want  string
	}{
		"without props": {
			draftOf(),
			`{"site_id":"site_1","name":"signup","url":"https://example.com/signup"}`,
		},
		"with props of each kind": {
			draftOf(P("plan", "pro"), P("amount", 4999), P("big", uint64(math.MaxUint64)), P("rate", 0.25), P("ratio", float32(0.1))),
			`{"site_id":"site_1","name":"signup","url":"https://example.com/signup",` +
				`"props":{"plan":"pro","amount":4999,"big":18446744073709551615,"rate":0.25,"ratio":0.1}}`,
		},
		"of another site": {
			draft{siteID: `site "2"`, name: "signup", url: "https://example.com/"},
			`{"site_id":"site \"2\"","name":"signup","url":"https://example.com/"}`,
		},
		"with blanks around the name, which is shown as given": {
			draft{name: " Sign Up\t", url: "https://example.com/"},
			`{"site_id":"site_1","name":" Sign Up\t","url":"https://example.com/"}`,
		},
		"with a prop whose value is empty": {
			draft{name: "n", url: "https://example.com/", props: []Prop{P("k", "")}},
			`{"site_id":"site_1","name":"n","url":"https://example.com/","props":{"k":""}}`,
		},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, _ := mustEncode(t, plainEncoder(), row.draft)
			assert.Equal(t, row.want, body)
		})
	}
}

func TestEncodeAppends(t *testing.T) {
	t.Parallel()
	e, d := plainEncoder(), draftOf()
	out, _, err := e.append([]byte("before"), &d)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(out), `before{"site_id":`), "%s", out)
}

func TestEncodeEscapesEveryByteThatJSONDoesNotAllow(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for b := range 0x7f {
		all.WriteByte(byte(b + 1)) // a NUL is refused
	}
	text := all.String() + "ä€😀\u2028\u2029\uFFFD"
	d := draft{siteID: text, name: text, url: "https://example.com/", props: []Prop{P(text, text)}}
	body, _ := mustEncode(t, newEncoder("", "", 32<<10, noLimits, pii.New(true, nil)), d)
	var got struct {
		SiteID string `json:"site_id"`
		Name   string
		Props  map[string]string
	}
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	assert.Equal(t, text, got.SiteID)
	assert.Equal(t, text, got.Name)
	assert.Equal(t, map[string]string{text: text}, got.Props)
}

func TestEncodeLeavesHTMLUnescaped(t *testing.T) {
	t.Parallel()
	const html = `<b>R&D's</b>`
	d := draft{name: html, url: "https://example.com/?a=1&b=<2>", props: []Prop{P(html, html)}}
	body, _ := mustEncode(t, plainEncoder(), d)
	assert.Equal(t, 3, strings.Count(body, html))
	assert.Contains(t, body, `?a=1&b=<2>`)
}

func TestEncodeTakesTheURLOfEventThenPageThenDefault(t *testing.T) {
	t.Parallel()
	page := &Page{rules: pagerOf(Config{}), https: true, host: "page.example", path: "/p"}
	exact := &Page{url: "https://exact.example/?token=kept"}
	rows := map[string]struct {
		draft draft
		want  string
	}{
		"event wins over page":       {draft{url: "https://event.example/", page: page}, "https://event.example/"},
		"page wins over default":     {draft{page: page}, "https://page.example/p"},
		"WithURL is sent as given":   {draft{page: exact}, "https://exact.example/?token=kept"},
		"default without a page":     {draft{}, "https://example.com/"},
		"default for a page of none": {draft{page: &Page{}}, "https://example.com/"},
		"Referer despite the Host":   {draft{page: &Page{rules: pagerOf(Config{}), host: "$", path: "/", url: "https://app.example/p", source: PageReferer}}, "https://app.example/p"},
		"default for a hostile Host": {draft{page: &Page{rules: pagerOf(Config{}), https: true, host: "evil\"/x", path: "/"}}, "https://example.com/"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.draft.name = "n"
			body, _ := mustEncode(t, plainEncoder(), row.draft)
			assert.Contains(t, body, `,"url":"`+row.want+`"}`)
		})
	}
}

func TestEncodeWithoutAnyURLIsErrNoURL(t *testing.T) {
	t.Parallel()
	e := newEncoder("site_1", "", 32<<10, Limits{}.withDefaults(), &pii.Guard{})
	for name, page := range map[string]*Page{"no page": nil, "page of none": {}, "hostile host": {host: "a b"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := e.append(nil, &draft{name: "n", page: page})
			assert.ErrorIs(t, err, ErrNoURL)
		})
	}
}

// texts returns n props of the longest text.
func texts(n int) (props []Prop) {
	for i := range n {
		props = append(props, P(strconv.Itoa(i), strings.Repeat("v", 2000)))
	}
	return props
}

// secretText is the value of fields that are refused. No error may repeat it.
const secretText = "s3cr3t-v4lue"

func refusedDrafts() map[string]struct {
	draft draft
	field string
} {
	type row = struct {
		draft draft
		field string
	}
	huge := strings.Repeat(secretText, 2<<20/len(secretText))
	bad := secretText + "\xff"
	withURL := func(url string) draft { return draft{name: "n", url: url} }
	return map[string]row{
		"an empty name":             {draft{url: "https://example.com/"}, "name"},
		"a blank name":              {draft{name: " \t\n", url: "https://example.com/"}, "name"},
		"a name of bad UTF-8":       {draft{name: bad, url: "https://example.com/"}, "name"},
		"a 2 MB name":               {draft{name: huge, url: "https://example.com/"}, "name"},
		"a blank site":              {draft{siteID: " ", name: "n", url: "https://example.com/"}, "site_id"},
		"a site of bad UTF-8":       {draft{siteID: bad, name: "n", url: "https://example.com/"}, "site_id"},
		"a relative URL":            {withURL("/" + secretText), "url"},
		"a URL without scheme":      {withURL("example.com/" + secretText), "url"},
		"a URL without host":        {withURL("https:///" + secretText), "url"},
		"a URL with a port only":    {withURL("https://:443/" + secretText), "url"},
		"a javascript: URL":         {withURL("javascript:" + secretText), "url"},
		"a data: URL":               {withURL("data:text/plain," + secretText), "url"},
		"a file URL":                {withURL("file://host/" + secretText), "url"},
		"a URL with a password":     {withURL("https://user:" + secretText + "@example.com/"), "url"},
		"a URL with a user":         {withURL("https://" + secretText + "@example.com/"), "url"},
		"a URL with a line break":   {withURL("https://example.com/\n" + secretText), "url"},
		"a URL with a bad escape":   {withURL("https://example.com/%zz" + secretText), "url"},
		"a URL with a bad port":     {withURL("https://example.com:" + secretText + "/"), "url"},
		"a URL of bad UTF-8":        {withURL("https://example.com/" + bad), "url"},
		"a 2 MB URL":                {withURL("https://example.com/" + huge), "url"},
		"a bad URL of WithURL":      {draft{name: "n", page: &Page{url: secretText}}, "url"},
		"an empty key":              {draftOf(P("", secretText)), "props"},
		"a key of bad UTF-8":        {draftOf(P("k\xff", secretText)), `props["k\xff"]`},
		"a value of bad UTF-8":      {draftOf(P("k", bad)), `props["k"]`},
		"a 2 MB value":              {draftOf(P("k", huge)), `props["k"]`},
		"a 2 MB key":                {draftOf(P(strings.Repeat("k", 2<<20), secretText)), `props["` + strings.Repeat("k", 64) + `…"]`},
		"NaN":                       {draftOf(P("k", math.NaN())), `props["k"]`},
		"positive infinity":         {draftOf(P("k", math.Inf(1))), `props["k"]`},
		"negative infinity":         {draftOf(P("k", math.Inf(-1))), `props["k"]`},
		"NaN of 32 bits":            {draftOf(P("k", float32(math.NaN()))), `props["k"]`},
		"props too large as a sum":  {draftOf(texts(17)...), "event"},
		"a 2 MB site":               {draft{siteID: huge, name: "n", url: "https://example.com/"}, "site_id"},
		"a bad prop after good":     {draftOf(P("a", 1), P("b", bad)), `props["b"]`},
		"a second prop without key": {draftOf(P("a", secretText), P("", 1)), "props"},
	}
}

func TestEncodeRefusesNamingTheFieldAndNeverTheValue(t *testing.T) {
	t.Parallel()
	for name, row := range refusedDrafts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := plainEncoder()
			_, redacted, err := e.append(nil, &row.draft)
			var field *FieldError
			require.ErrorAs(t, err, &field)
			assert.Equal(t, row.field, field.Field)
			assert.NotEmpty(t, field.Reason)
			assert.Zero(t, redacted, "an event that is refused redacts nothing")
			assert.NotContains(t, err.Error(), secretText)
			assert.Less(t, len(err.Error()), 512, "an error must not repeat what it refuses")
		})
	}
}

func TestEncodeRefusesAnEventWithoutSite(t *testing.T) {
	t.Parallel()
	e := newEncoder("", "", 32<<10, Limits{}.withDefaults(), &pii.Guard{})
	d := draftOf()
	_, _, err := e.append(nil, &d)
	var field *FieldError
	require.ErrorAs(t, err, &field)
	assert.Equal(t, "site_id", field.Field)
}

func TestEncodeAcceptsAnEventOfExactlyTheBound(t *testing.T) {
	t.Parallel()
	d := draftOf(P("k", "v"))
	body, _ := mustEncode(t, plainEncoder(), d)
	exact := newEncoder("site_1", "", len(body), Limits{}.withDefaults(), &pii.Guard{})
	_, _, err := exact.append(nil, &d)
	require.NoError(t, err)
	less := newEncoder("site_1", "", len(body)-1, Limits{}.withDefaults(), &pii.Guard{})
	_, _, err = less.append(nil, &d)
	var field *FieldError
	require.ErrorAs(t, err, &field)
	assert.Equal(t, "event", field.Field)
}

// The buffer returns to a pool. One large event must not make it keep that size.
func TestEncodeStopsGrowingItsBufferNearTheBound(t *testing.T) {
	t.Parallel()
	value := strings.Repeat("v", 30<<10)
	props := make([]Prop, 1000)
	for i := range props {
		props[i] = P("key_"+strings.Repeat("k", i), value)
	}
	e, d := newEncoder("site_1", "https://example.com/", 32<<10, noLimits, &pii.Guard{}), draftOf(props...)
	out, _, err := e.append(nil, &d)
	require.Error(t, err)
	assert.Less(t, cap(out), 1<<20, "the buffer grew to %d bytes for an event of at most 32 KiB", cap(out))
}

// Limits above MaxEventBytes do not make Track copy or search a text that cannot fit.
func TestEncodeReadsNoFieldThatIsLargerThanAnEvent(t *testing.T) {
	t.Parallel()
	e := newEncoder("site_1", "https://example.com/", 32<<10, noLimits, &pii.Guard{})
	huge := strings.Repeat("v", 2<<20)
	for field, d := range map[string]draft{
		"name": {name: huge}, "url": {name: "n", url: "https://example.com/" + huge},
		`props["k"]`: draftOf(P("k", huge)), `props["` + huge[:64] + `…"]`: draftOf(P(huge, 1)),
	} {
		out, _, err := e.append(nil, &d)
		bad, ok := errors.AsType[*FieldError](err)
		require.True(t, ok, "%T", err)
		assert.Equal(t, field, bad.Field)
		assert.Less(t, cap(out), 1<<10)
	}
}

func TestEncodeAcceptsURLsThatAreUnusual(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"port":                 "https://example.com:8443/x",
		"IPv4":                 "http://127.0.0.1/",
		"IPv6":                 "http://[::1]:8080/x",
		"upper case":           "HTTPS://EXAMPLE.COM/",
		"fragment":             "https://example.com/#part",
		"escapes":              "https://example.com/a%2Fb?c=%20",
		"not ASCII":            "https://exämple.com/straße?q=ü",
		"no path":              "https://example.com",
		"query without a path": "https://example.com?x=1",
		"personal data":        "https://example.com/?mail=joe@example.com",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, redacted := mustEncode(t, plainEncoder(), draft{name: "n", url: url})
			assert.Contains(t, body, `"url":"`+url+`"`, "a URL given explicitly is sent exactly as given")
			assert.Zero(t, redacted)
		})
	}
}

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
