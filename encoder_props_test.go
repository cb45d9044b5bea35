package footfall

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/pii"
)

// guarded encodes one prop and reports whether its value was redacted.
func guarded(t *testing.T, g *pii.Guard, p Prop) bool {
	t.Helper()
	body, redacted := mustEncode(t, newEncoder("site_1", "", 32<<10, Limits{}.withDefaults(), g), draftOf(p))
	value := propsOf(t, body)[p.Key()]
	require.Equal(t, value == "[redacted]", redacted == 1, "counted %d for %v", redacted, value)
	return redacted == 1
}

// account is a type of an application that P must accept.
type account int64

func personalValues() map[string]Prop {
	values := otherPersonalValues()
	if card := int64(4111111111111111); math.MaxInt > math.MaxInt32 {
		values["card as an int"] = P("k", int(card)) // does not fit on 32 bits
	}
	return values
}

func otherPersonalValues() map[string]Prop {
	return map[string]Prop{
		"e-mail":                    P("k", "joe@example.com"),
		"e-mail in a sentence":      P("k", "please write to joe@example.com today"),
		"e-mail in brackets":        P("k", "Joe <joe.doe+tag@mail.example.co.uk>"),
		"e-mail in a URL":           P("k", "https://example.com/?to=joe@example.com&x=1"),
		"e-mail in a mailto":        P("k", "mailto:joe@example.com"),
		"e-mail in JSON":            P("k", `{"mail":"joe@example.com"}`),
		"e-mail after a handle":     P("k", "@joe and joe@example.com"),
		"e-mail at the end":         P("k", "from joe@example.com."),
		"e-mail of another script":  P("k", "jürgen@exämple.de"),
		"e-mail with a quoted part": P("k", `"joe doe"@example.com`),
		"e-mail in capitals":        P("k", "JOE@EXAMPLE.COM"),
		"e-mail of a named string":  P("k", planName("joe@example.com")),
		"e-mail and bad UTF-8":      P("k", "joe@example.com\xff"),
		"IPv4":                      P("k", "203.0.113.7"),
		"IPv4 with port":            P("k", "203.0.113.7:8080"),
		"IPv6":                      P("k", "2001:db8::1"),
		"IPv6 in full":              P("k", "2001:0DB8:0000:0000:0000:0000:0000:0001"),
		"IPv6 in brackets":          P("k", "[2001:db8::1]"),
		"IPv6 with port":            P("k", "[2001:db8::1]:443"),
		"IPv6 loopback":             P("k", "::1"),
		"IPv4 in IPv6":              P("k", "::ffff:203.0.113.7"),
		"IPv4 in IPv6 with port":    P("k", "[::ffff:203.0.113.7]:443"),
		"IPv6 with zone":            P("k", "fe80::1%eth0"),
		"IPv6 with zone of letters": P("k", "fe80::1%wlan"),
		"IPv6 with zone, capitals":  P("k", "FE80::1%Eth"),
		"IPv6 with zone and port":   P("k", "[fe80::1%eth0]:443"),
		"IPv6 with zone, brackets":  P("k", "[fe80::1%en]"),
		"IPv6 with escaped zone":    P("k", "[fe80::1%25en]:80"), // RFC 6874
		"IPv6 with a zone of words": P("k", "[2001:0db8:0000:0000:0000:ffff:255.255.255.255%vEthernet (Default Switch)]:65535"),
		"IPv4 in IPv6 with zone":    P("k", "::ffff:203.0.113.7%en"),
		"card of 16 digits":         P("k", "4111111111111111"),
		"card grouped by blanks":    P("k", "4111 1111 1111 1111"),
		"card grouped by dashes":    P("k", "5500-0000-0000-0004"),
		"card of 15 digits":         P("k", "3782 822463 10005"),
		"card of 14 digits":         P("k", "30569309025904"),
		"card of 13 digits":         P("k", "4222222222222"),
		"card of 19 digits":         P("k", "6304 0000 0000 0000 000"),
		"card as an int64":          P("k", int64(5500000000000004)),
		"card as a uint64":          P("k", uint64(378282246310005)),
		"card as a named int64":     P("k", account(6011000990139424)),
		// encoding/json decodes every number in a map[string]any as a float64.
		"card as a float64":      P("k", 4111111111111111.0),
		"bearer token":           P("k", "Bearer x"),
		"bearer token lower":     P("k", "bearer mF_9.B5f-4.1JqM"),
		"bearer token upper":     P("k", "BEARER mF_9.B5f-4.1JqM"),
		"JSON Web Token":         P("k", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"),
		"JWT without signature":  P("k", "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0."),
		"version like an IP":     P("k", "1.2.3.4"), // the documented false positive
		"four numbers of a date": P("k", "20.11.20.25"),
	}
}

func TestGuardRedactsPersonalData(t *testing.T) {
	t.Parallel()
	for name, p := range personalValues() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.True(t, guarded(t, pii.New(false, nil), p))
			assert.True(t, guarded(t, pii.New(false, []string{"other"}), p), "only the exempt key is exempt")
		})
	}
}

// harmlessTexts are texts that applications send. Redacting them would lose data.
func harmlessTexts() map[string]Prop {
	return map[string]Prop{
		"empty":                     P("k", ""),
		"word":                      P("k", "pro"),
		"sentence":                  P("k", "The quick brown fox, twice."),
		"not ASCII":                 P("k", "Größe 😀"),
		"handle":                    P("k", "@handle"),
		"handle in a sentence":      P("k", "follow @handle.now please"),
		"at sign alone":             P("k", "@"),
		"meeting at":                P("k", "2 pizzas @ 9.99"),
		"no domain":                 P("k", "joe@localhost"),
		"domain of one dot":         P("k", "joe@example."),
		"domain that begins by dot": P("k", "joe@.com"),
		"two at signs":              P("k", "joe@@example.com"),
		"price":                     P("k", "12.99"),
		"price with currency":       P("k", "1,299.00 EUR"),
		"time":                      P("k", "12:30"),
		"time with seconds":         P("k", "12:30:45"),
		"timestamp":                 P("k", "2026-01-02T15:04:05Z"),
		"date":                      P("k", "2026.01.02"),
		"version":                   P("k", "v1.2.3"),
		"version of three":          P("k", "1.26.8"),
		"version of five":           P("k", "1.2.3.4.5"),
		"percentage":                P("k", "12.5%"),
		"escaped text":              P("k", "a%20b"),
		"template":                  P("k", "[%s]: 1"),
		"network":                   P("k", "203.0.113.0/24"),
		"IP in a sentence":          P("k", "from 203.0.113.7"),
		"too great for IPv4":        P("k", "1.2.3.400"),
		"host and port":             P("k", "example.com:443"),
		"namespace":                 P("k", "std::vector"),
		"ratio":                     P("k", "16:9"),
		"hex word":                  P("k", "deadbeef"),
		"UUID":                      P("k", "019aa1f0-2f6c-7cc3-98c4-dc0c0c07398f"),
		"UUID mostly of digits":     P("k", "41111111-1111-4111-8111-111111111111"),
		"unix millis as text":       P("k", "1763660000000"),
		"order number":              P("k", "ORD-4111-1111"),
		"Luhn fails":                P("k", "4111111111111112"),
		"Luhn fails, grouped":       P("k", "4111 1111 1111 1112"),
		"12 digits":                 P("k", "411111111116"),
		"20 digits":                 P("k", "41111111111111111115"),
		"card with a letter":        P("k", "4111111111111111x"),
		"zeros":                     P("k", "0000000000000000"),
		"phone":                     P("k", "+49 30 1234567"),
		"bearer alone":              P("k", "bearer"),
		"bearer and blank":          P("k", "Bearer "),
		"bearer as a word":          P("k", "bearer of good news"), // RFC 6750: a token has no blanks
		"bearings":                  P("k", "bearings"),
		"file with eyJ":             P("k", "eyJafjallajökull.jpg"),
		"JWT in a sentence":         P("k", "eyJ a.b.c"),
	}
}

// harmlessNumbers are the same as numbers.
func harmlessNumbers() map[string]Prop {
	return map[string]Prop{
		"unix millis": P("k", int64(1763660000000)),
		"unix micros": P("k", int64(1763660000000003)),
		"unix nanos":  P("k", int64(1763660000000000009)),
		// One time stamp in ten passes the Luhn check.
		"unix millis by Luhn":          P("k", int64(1763660000003)),
		"unix micros by Luhn":          P("k", int64(1763660000000006)),
		"unix nanos by Luhn":           P("k", int64(1763660000000000003)),
		"unix millis by Luhn, as text": P("k", "1763660000003"),
		"Luhn fails as int":            P("k", int64(4111111111111112)),
		"zero":                         P("k", 0),
		"negative":                     P("k", int64(-4111111111111111)),
		"least int64":                  P("k", int64(math.MinInt64)),
		"greatest uint64":              P("k", uint64(math.MaxUint64)),
		"amount":                       P("k", 4999),
		"float":                        P("k", 4111.5),
		"float Luhn fails":             P("k", 4111111111111112.0),
		"float with a fraction":        P("k", 411111111111111.5),
		"float too great for a card":   P("k", 4.1e30),
	}
}

func TestGuardLeavesOtherValuesAlone(t *testing.T) {
	t.Parallel()
	rows := harmlessTexts()
	maps.Copy(rows, harmlessNumbers())
	for name, p := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.False(t, guarded(t, pii.New(false, nil), p))
		})
	}
}

func TestGuardLeavesExemptKeysAlone(t *testing.T) {
	t.Parallel()
	g := pii.New(false, []string{"version", "k"})
	for name, p := range personalValues() {
		if name == "e-mail and bad UTF-8" {
			continue // not redacted, because the encoder refuses invalid UTF-8
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.False(t, guarded(t, g, p))
		})
	}
}

func TestGuardIsOffWithAllowPII(t *testing.T) {
	t.Parallel()
	for name, p := range personalValues() {
		if name == "e-mail and bad UTF-8" {
			continue // as above
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.False(t, guarded(t, pii.New(true, nil), p))
		})
	}
}

func TestGuardExemptsKeysByTheirWholeName(t *testing.T) {
	t.Parallel()
	g := pii.New(false, []string{"version"})
	for _, key := range []string{"Version", "version2", "versio", ""} {
		p := P("x"+key, "1.2.3.4")
		assert.True(t, guarded(t, g, p), p.Key())
	}
}

func TestGuardKeepsItsOwnListOfExemptKeys(t *testing.T) {
	t.Parallel()
	keys := []string{"version"}
	g := pii.New(false, keys)
	keys[0] = "mail"
	assert.False(t, guarded(t, g, P("version", "1.2.3.4")))
	assert.True(t, guarded(t, g, P("mail", "joe@example.com")))
}

// The dashboard shows names exactly as given, and a key is the program's text.
func TestGuardNeverTouchesNamesKeysSitesOrURLs(t *testing.T) {
	t.Parallel()
	const mail = "joe@example.com"
	d := draft{siteID: mail, name: mail, url: "https://example.com/" + mail, props: []Prop{P(mail, "v"), P("1.2.3.4", 1)}}
	body, redacted := mustEncode(t, plainEncoder(), d)
	assert.Zero(t, redacted)
	assert.Equal(t, `{"site_id":"joe@example.com","name":"joe@example.com","url":"https://example.com/joe@example.com",`+
		`"props":{"joe@example.com":"v","1.2.3.4":1}}`, body)
}

func TestGuardCountsEachValueItRedacts(t *testing.T) {
	t.Parallel()
	page := &Page{rules: pagerOf(Config{}), https: true, host: "example.com", path: "/", query: "ref=joe@example.com&source=x"}
	d := draft{name: "n", page: page, props: []Prop{
		P("mail", "overridden@example.com"), P("mail", "joe@example.com"), P("ip", "203.0.113.7"), P("plan", "pro"), P("card", int64(4111111111111111)),
	}}
	body, redacted := mustEncode(t, plainEncoder(), d)
	assert.Equal(t, 4, redacted, "three props and one query value; one that is overridden is not sent")
	assert.Equal(t, map[string]any{"mail": "[redacted]", "ip": "[redacted]", "plan": "pro", "card": "[redacted]"}, propsOf(t, body))
	assert.Contains(t, body, `"url":"https://example.com/?source=x"`)
}

func TestPlainPropsAreWrittenLikeOtherProps(t *testing.T) {
	t.Parallel()
	e := newEncoder("s", "https://example.com/", 32<<10, Limits{}.withDefaults(), pii.New(false, nil))
	fast, general := make([]byte, 0, 1024), []byte(nil)
	written := 0
	for _, p := range plainCandidates() {
		out, ok := e.appendPlainProp(fast, &p)
		if !ok {
			continue
		}
		written++
		general, personal, err := e.appendProp(general[:0], &p)
		require.NoError(t, err)
		require.False(t, personal, "%v", p.Value())
		require.Equal(t, string(general)+",", string(out))
	}
	assert.Greater(t, written, 100_000)
}

func plainCandidates() (props []Prop) {
	for _, n := range []int64{0, 1, 9, 10, 99, 100, 999_999_999_999, 1e12, -1, math.MinInt64, math.MaxInt64} {
		props = append(props, P("n", n), P("n", int(n)), P("n", uint64(n)), P("n", float64(n)), P("n", float64(n)/100), P("n", float32(n)))
	}
	for _, f := range []float64{0.1, 0.01, 0.29, 1.1, 1.15, 0.001, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, math.MaxFloat64, 9_999_999_999.99} {
		props = append(props, P("f", f), P("f", math.Nextafter(f, 1)), P("f", -f))
	}
	for range 100_000 {
		digits := math.Pow10(rand.IntN(14))
		cents := math.Round(rand.Float64()*digits) / 100
		props = append(props, P("n", int64(rand.Float64()*digits)), P("f", cents), P("f", math.Nextafter(cents, 0)), P("f", rand.Float64()))
	}
	return append(props, P("", "a"), P(`"`, "a"), P("a", "@"), P("a", "ü"), P("a", ""), P("ä", 1))
}

func TestPlainPropsDoNotGrowTheBuffer(t *testing.T) {
	t.Parallel()
	e := newEncoder("s", "https://example.com/", 32<<10, Limits{}.withDefaults(), pii.New(false, nil))
	for _, p := range []Prop{P("k", "value"), P("k", int64(999_999_999_999)), P("k", 9_999_999_999.99)} {
		for room := range 40 {
			out, ok := e.appendPlainProp(make([]byte, 0, room), &p)
			assert.LessOrEqual(t, len(out), room)
			assert.Equal(t, ok, len(out) > 0)
		}
	}
}

func TestErrorNamesAPlainValueThatIsTooLong(t *testing.T) {
	t.Parallel()
	e := newEncoder("s", "https://example.com/", 100, Limits{}.withDefaults(), pii.New(false, nil))
	_, _, err := e.appendProps(make([]byte, 0, 1024), &draft{props: []Prop{P("ok", 1), P("long", strings.Repeat("x", 101))}})
	assert.ErrorContains(t, err, `props["long"]`)
}

func TestTheLastOfManyPropsWithOneKeyWins(t *testing.T) {
	t.Parallel()
	e := newEncoder("s", "https://example.com/", 32<<10, noLimits, pii.New(false, nil))
	var props []Prop
	for i := range 300 {
		props = append(props, P("key"+strconv.Itoa(i%200), i))
	}
	got, _, err := e.appendProps(nil, &draft{props: props})
	require.NoError(t, err)
	var want []string
	for i := 100; i < 300; i++ {
		want = append(want, `"key`+strconv.Itoa(i%200)+`":`+strconv.Itoa(i))
	}
	assert.Equal(t, `,"props":{`+strings.Join(want, ",")+"}", string(got))
}

func TestEncodeKeepsTheLastOfPropsWithOneKey(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		props []Prop
		want  string
	}{
		"first and last":               {[]Prop{P("k", 1), P("other", 2), P("k", 3)}, `"props":{"other":2,"k":3}}`},
		"three in a row":               {[]Prop{P("k", 1), P("k", 2), P("k", "x")}, `"props":{"k":"x"}}`},
		"a bad one that is overridden": {[]Prop{P("k", math.NaN()), P("k", 1)}, `"props":{"k":1}}`},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, _ := mustEncode(t, plainEncoder(), draftOf(row.props...))
			assert.True(t, strings.HasSuffix(body, row.want), body)
		})
	}
}

// Track never blocks. The search for repeated keys is quadratic, so it must not run for props
// that cannot fit in an event: these took seconds.
func TestEncodeRefusesTooManyPropsWithoutSearchingThem(t *testing.T) {
	t.Parallel()
	props := make([]Prop, 50_000)
	for i := range props {
		props[i] = P("key_"+strconv.Itoa(1_000_000+i), i)
	}
	e, d := plainEncoder(), draftOf(props...)
	_, _, err := e.append(nil, &d)
	bad, ok := errors.AsType[*FieldError](err)
	require.True(t, ok, "%T", err)
	assert.Equal(t, "props", bad.Field, "found before the props are looked at")
}

// Not parallel: testing.AllocsPerRun counts the allocations of the whole process.
func TestEncodeOfFourPropsAllocatesNothing(t *testing.T) {
	e := plainEncoder()
	buf := make([]byte, 0, 4096)
	page := Page{rules: pagerOf(Config{}), https: true, host: "example.com", path: "/checkout"}
	rows := map[string]draft{
		"explicit URL": {url: "https://example.com/checkout?utm_source=x"},
		"page":         {page: &page},
		"default URL":  {},
	}
	for name, d := range rows {
		t.Run(name, func(t *testing.T) {
			d.name = "checkout_completed"
			d.props = []Prop{P("plan", "pro \"plus\""), P("amount", 4999), P("rate", 0.19), P("id", uint64(7))}
			allocs := testing.AllocsPerRun(1000, func() {
				if _, _, err := e.append(buf, &d); err != nil {
					panic(err)
				}
			})
			assert.Zero(t, allocs)
		})
	}
}

func BenchmarkEncodeOfFourProps(b *testing.B) {
	e, d := plainEncoder(), draftOf(P("plan", "pro"), P("amount", 4999), P("rate", 0.19), P("currency", "EUR"))
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := e.append(buf, &d); err != nil {
			b.Fatal(err)
		}
	}
}

func TestHundredthsAreWrittenAsAnyOtherNumber(t *testing.T) {
	check := func(f float64) {
		p := P("amount", f)
		got, err := appendFloat(nil, &p, 64)
		require.NoError(t, err)
		want, err := json.Marshal(f)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 0.01, -0.01, 0.1, 0.19, -1.5, 49.99, 1e13, 9999999999999.99, -9999999999999.99, 1e15, 0.29, 1.005, 0.015} {
		check(f)
	}
	for range 100_000 {
		f := float64(rand.Int64N(2e15)-1e15) / 100
		check(f)
		check(math.Nextafter(f, 0)) // times 100 it may still be a whole number
		f = float64(rand.Int64N(2e6)-1e6) / 1000
		check(f)
		check(math.Nextafter(f, 1e9))
	}
}
