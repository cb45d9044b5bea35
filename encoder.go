package footfall

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/footfall-dev/footfall/internal/chars"
	"github.com/footfall-dev/footfall/internal/envelope"
	"github.com/footfall-dev/footfall/internal/jsontext"
	"github.com/footfall-dev/footfall/internal/pii"
)

// encoder checks every field of an event and writes the JSON body of its POST (contract,
// section Event). It is immutable; goroutines share it.
type encoder struct {
	siteHead   string // `{"site_id":"…","name":` of the default site, ready to copy
	defaultURL string // `,"url":"…"`, ready to copy
	byDefault  string // the same URL as text
	maxBytes   int
	limits     Limits // each at most maxBytes, so that a longer field is never read
	guard      *pii.Guard
	landing    string      // Config.LandingProp
	fixed      []fixedProp // of Config.Props
}

// newEncoder returns an encoder. The default site and URL are valid, or empty.
func newEncoder(siteID, defaultURL string, maxBytes int, limits Limits, g *pii.Guard) encoder {
	e := encoder{byDefault: defaultURL, maxBytes: maxBytes, limits: limits.within(maxBytes), guard: g}
	if siteID != "" {
		head, _ := appendHead(nil, siteID)
		e.siteHead = string(head)
	}
	if defaultURL != "" {
		field, _ := appendString([]byte(urlKey), defaultURL, "url")
		e.defaultURL = string(field)
	}
	return e
}

// draft is one event for the encoder. Its strings and props belong to the caller.
type draft struct {
	siteID  string // empty means the default site
	name    string
	head    string         // what appendSiteAndName writes for siteID and name, or ""
	url     string         // empty means the URL of page, else the default
	page    *Page          // may be nil
	request *routedRequest // of page; may be nil
	props   []Prop
	more    []Prop // of the context, each key once; props take precedence
	touch   *Touch // may be nil
	id      string // see Event.ID
	whole   bool   // there are no other props than props
	hidden  int    // values of url that the guard replaced before

	sanitized bool // a text of the client was changed
}

// append writes d after dst, with its id in an envelope. On error, out ends with an unfinished event. redacted is the number
// of values that the personal-data guard replaced.
func (e *encoder) append(dst []byte, d *draft) (out []byte, redacted int, err error) {
	if reason := envelope.Check(d.id); reason != "" {
		return dst, 0, &FieldError{"id", reason}
	}
	dst = envelope.Append(dst, d.id)
	start := len(dst)
	if dst, err = e.appendSiteAndName(dst, d); err != nil {
		return dst, 0, err
	}
	if dst, redacted, err = e.appendURL(dst, d); err != nil {
		return dst, 0, err
	}
	dst, n, err := e.appendProps(dst, d)
	if err != nil {
		return dst, 0, err
	}
	dst = append(dst, '}')
	if len(dst)-start > e.maxBytes {
		return dst, 0, e.tooLarge("event")
	}
	return dst, d.hidden + redacted + n, nil
}

// headOf returns what appendSiteAndName writes for an event, or "" if the event is not valid.
func (e *encoder) headOf(siteID, name string) string {
	head, err := e.appendSiteAndName(nil, &draft{siteID: siteID, name: name})
	if err != nil {
		return ""
	}
	return string(head)
}

func (e *encoder) appendSiteAndName(dst []byte, d *draft) ([]byte, error) {
	if d.head != "" {
		return append(dst, d.head...), nil
	}
	if len(d.siteID) > e.maxBytes {
		return dst, e.tooLarge("site_id")
	}
	if d.siteID != "" {
		var err error
		if dst, err = appendHead(dst, d.siteID); err != nil {
			return dst, err
		}
	} else if e.siteHead != "" {
		dst = append(dst, e.siteHead...)
	} else {
		return dst, &FieldError{"site_id", "empty"}
	}
	switch {
	case isEmpty(d.name):
		return dst, &FieldError{"name", "empty"}
	case e.isLongName(d.name):
		return dst, &FieldError{"name", fmt.Sprintf("longer than %d characters (Config.Limits.Name)", e.limits.Name)}
	}
	return appendString(dst, d.name, "name")
}

// isLongName counts characters. Each has one to four bytes.
func (e *encoder) isLongName(name string) bool {
	return len(name) > e.limits.Name && (len(name) > utf8.UTFMax*e.limits.Name || utf8.RuneCountInString(name) > e.limits.Name)
}

// isEmpty reports whether s has nothing but white space.
func isEmpty(s string) bool {
	return s == "" || (s[0] <= ' ' || s[0] >= utf8.RuneSelf) && strings.TrimSpace(s) == ""
}

func appendHead(dst []byte, siteID string) ([]byte, error) {
	if isEmpty(siteID) {
		return dst, &FieldError{"site_id", "empty"}
	}
	dst = append(dst, `{"site_id":`...)
	dst, err := appendString(dst, siteID, "site_id")
	return append(dst, `,"name":`...), err
}

// route returns the route that the request of the page matched. It is empty if the URL does not
// depend on it.
func (d *draft) route(g *pii.Guard) pii.Route {
	p := d.page
	if noted := d.request.notedRoute(); noted != "" && p.route.Pattern == "" {
		return pii.Route{Pattern: noted}
	}
	if p.route.Pattern != "" || d.request == nil || d.request.routes == nil || !p.isRoute() && !g.NeedsRoute(p.path) {
		return p.route
	}
	return pii.Route{Pattern: d.request.routes.routeOf(d.request.method, p)}
}

const urlKey = `,"url":`

func (e *encoder) appendURL(dst []byte, d *draft) (out []byte, redacted int, err error) {
	switch {
	case d.touch != nil:
		return e.appendTouchedURL(dst, d)
	case d.url != "":
		dst, err = e.appendExactURL(dst, d.url)
	case d.page != nil && d.page.exact() != "":
		dst, err = e.appendExactURL(dst, d.page.url)
	case d.page != nil && d.page.usable():
		dst, redacted = e.appendPage(dst, d)
	case e.defaultURL != "":
		dst = append(dst, e.defaultURL...)
	default:
		err = ErrNoURL
	}
	return dst, redacted, err
}

// appendTouchedURL writes the URL of d with the campaign of its touch.
func (e *encoder) appendTouchedURL(dst []byte, d *draft) (out []byte, redacted int, err error) {
	url, redacted := e.urlOf(d)
	if url == "" {
		return dst, 0, ErrNoURL
	}
	dst, err = e.appendExactURL(dst, url)
	return dst, redacted, err
}

// addLanding adds the landing page of the touch of d as a prop.
func (e *encoder) addLanding(d *draft) {
	if e.landing != "" && d.touch.landing != "" && !contains(d.more, e.landing) {
		d.more = slices.Concat(d.more, []Prop{P(e.landing, strings.Clone(d.touch.landing))})
	}
}

// appendPage writes the URL of the page, or the default URL if the page has no known host.
func (e *encoder) appendPage(dst []byte, d *draft) (out []byte, redacted int) {
	start := len(dst)
	dst, redacted, changed := d.page.append(append(dst, urlKey+`"`...), e.guard, d.route(e.guard))
	d.sanitized = d.sanitized || changed != 0
	if changed&hostUnknown != 0 && e.defaultURL != "" {
		return append(dst[:start], e.defaultURL...), 0
	}
	return append(dst, '"'), redacted
}

func (e *encoder) appendExactURL(dst []byte, url string) ([]byte, error) {
	if len(url) > e.limits.URL {
		return dst, &FieldError{"url", tooLong("", e.limits.URL, "URL")}
	}
	if reason := checkURL(url); reason != "" {
		return dst, &FieldError{"url", reason}
	}
	return appendString(append(dst, urlKey...), url, "url")
}

func (e *encoder) appendProps(dst []byte, d *draft) (out []byte, redacted int, err error) {
	props, n := d.props, len(d.props)
	others := !d.whole && len(d.more)+len(e.fixed) > 0
	if n == 0 && !others {
		return dst, 0, nil
	}
	if n > e.maxBytes/smallestProp {
		return dst, 0, e.tooManyProps(n)
	}
	if hasRepeats(props) {
		props = lastOfEach(props)
	}
	dst = append(dst, `,"props":{`...)
	n = len(props)
	if others {
		if dst, n, redacted, err = e.appendMore(dst, props, d.more); err != nil {
			return dst, redacted, err
		}
	}
	if n > e.limits.Props {
		return dst, 0, &FieldError{"props", fmt.Sprintf("%d entries are more than %d (Config.Limits.Props)", n, e.limits.Props)}
	}
	for i := range props {
		var personal bool
		if dst, personal, err = e.appendEntry(dst, &props[i]); err != nil {
			return dst, redacted, err
		}
		if personal {
			redacted++
		}
	}
	dst[len(dst)-1] = '}' // in place of the last comma
	return dst, redacted, nil
}

func (e *encoder) tooManyProps(n int) error {
	return &FieldError{"props", fmt.Sprintf("%d entries cannot fit in Config.MaxEventBytes (%d)", n, e.maxBytes)}
}

// appendEntry writes a prop and a comma. personal says that the guard replaced the value.
func (e *encoder) appendEntry(dst []byte, p *Prop) (out []byte, personal bool, err error) {
	if out, ok := e.appendPlainProp(dst, p); ok {
		return out, false, nil
	}
	if dst, personal, err = e.appendProp(dst, p); err != nil {
		return dst, false, err
	}
	if len(dst) > e.maxBytes {
		return dst, personal, e.tooLarge("event")
	}
	return append(dst, ','), personal, nil
}

func (e *encoder) appendProp(dst []byte, p *Prop) (out []byte, personal bool, err error) {
	if p.kind == kindInvalid {
		return dst, false, &FieldError{p.key, p.str}
	}
	if dst, err = e.appendKey(dst, p.key); err != nil {
		return dst, false, err
	}
	return e.appendValue(dst, p)
}

// smallestProp is the least number of bytes of a prop: "k":1,
const smallestProp = 6

func (e *encoder) tooLarge(field string) error {
	return &FieldError{field, fmt.Sprintf("more than %d bytes encoded (Config.MaxEventBytes)", e.maxBytes)}
}

// hasRepeats reports whether two props have the same key.
func hasRepeats(props []Prop) bool {
	var seen uint64
	for i := range props {
		bit := keyBit(props[i].key)
		if seen&bit != 0 && contains(props[:i], props[i].key) {
			return true
		}
		seen |= bit
	}
	return false
}

// keyBit is a short hash of a key. Keys with different bits are different.
func keyBit(key string) uint64 {
	if key == "" {
		return 1
	}
	return 1 << ((uint(key[len(key)-1]) + 8*uint(len(key))) % 64)
}

// lastOfEach leaves out each prop whose key appears in a later prop.
func lastOfEach(props []Prop) (kept []Prop) {
	for i := range props {
		if !contains(props[i+1:], props[i].key) {
			kept = append(kept, props[i])
		}
	}
	return kept
}

func contains(props []Prop, key string) bool {
	for i := range props {
		if props[i].key == key {
			return true
		}
	}
	return false
}

func (e *encoder) appendKey(dst []byte, key string) ([]byte, error) {
	if key == "" {
		return dst, &FieldError{"props", "a key is empty"}
	}
	if len(key) > e.limits.PropKey {
		return dst, propError(key, tooLong("key ", e.limits.PropKey, "PropKey"))
	}
	start := len(dst)
	dst, ok := jsontext.AppendQuoted(dst, key, chars.Scan(key))
	if reason := refusal(key, len(dst)-start, ok); reason != "" {
		return dst, propError(key, "key is "+reason)
	}
	return append(dst, ':'), nil
}

func (e *encoder) appendValue(dst []byte, p *Prop) (out []byte, personal bool, err error) {
	switch p.kind {
	case kindString:
		return e.appendText(dst, p)
	case kindFloat32:
		dst, err = appendFloat(dst, p, 32)
		return dst, false, err
	}
	if e.redactsNumber(p) {
		return append(dst, redactedText...), true, nil
	}
	switch p.kind {
	case kindInt:
		dst = strconv.AppendInt(dst, int64(p.num), 10)
	case kindUint:
		dst = strconv.AppendUint(dst, p.num, 10)
	default:
		dst, err = appendFloat(dst, p, 64)
	}
	return dst, false, err
}

// redactsNumber reports whether the guard redacts p, an integer or a float64. A negative
// integer is no card number: as a uint64 it begins with 9 or 1.
func (e *encoder) redactsNumber(p *Prop) bool {
	if p.kind == kindFloat64 {
		return e.guard.RedactsFloat(p.key, math.Float64frombits(p.num))
	}
	return e.guard.RedactsNumber(p.key, p.num)
}

// eachRedacted calls f with the key of each prop of d whose value the guard redacts. It is for the few
// events that have any: append only counts them.
func (e *encoder) eachRedacted(d *draft, f func(key string)) {
	props := slices.Concat(d.more, d.props)
	for i := range props {
		if p := &props[i]; e.redacts(p) && !contains(props[i+1:], p.key) {
			f(p.key)
		}
	}
}

func (e *encoder) redacts(p *Prop) bool {
	switch p.kind {
	case kindString:
		return e.guard.RedactsText(p.key, p.str, chars.Scan(p.str))
	case kindFloat32:
		return false
	}
	return e.redactsNumber(p)
}

const redactedText = `"[redacted]"`

func (e *encoder) appendText(dst []byte, p *Prop) (out []byte, personal bool, err error) {
	if len(p.str) > e.limits.PropText {
		return dst, false, propError(p.key, tooLong("", e.limits.PropText, "PropText"))
	}
	found := chars.Scan(p.str)
	if e.guard.RedactsText(p.key, p.str, found) {
		return append(dst, redactedText...), true, nil
	}
	start := len(dst)
	dst, ok := jsontext.AppendQuoted(dst, p.str, found)
	if reason := refusal(p.str, len(dst)-start, ok); reason != "" {
		return dst, false, propError(p.key, "value is "+reason)
	}
	return dst, false, nil
}

// tooLong is the reason for a text of more bytes than a field of Limits, or than MaxEventBytes.
func tooLong(what string, limit int, field string) string {
	return fmt.Sprintf("%slonger than %d bytes (Config.Limits.%s)", what, limit, field)
}

// appendFloat writes the value of p, a float with the given number of bits.
func appendFloat(dst []byte, p *Prop, bits int) ([]byte, error) {
	dst, ok := jsontext.AppendFloat(dst, math.Float64frombits(p.num), bits)
	if !ok {
		return dst, propError(p.key, "NaN and infinities are not numbers in JSON")
	}
	return dst, nil
}

// appendString writes s as a JSON string; field names it in the error.
func appendString(dst []byte, s, field string) ([]byte, error) {
	start := len(dst)
	dst, ok := jsontext.AppendString(dst, s)
	if reason := refusal(s, len(dst)-start, ok); reason != "" {
		return dst, &FieldError{field, reason}
	}
	return dst, nil
}

// refusal returns why the API refuses a text that takes so many bytes as JSON, or "". The collector accepts no
// NUL, which some stores and formats of exports cannot hold. JSON escapes it.
func refusal(s string, encoded int, valid bool) string {
	switch {
	case !valid:
		return "not valid UTF-8"
	case encoded > len(s)+len(`""`) && strings.IndexByte(s, 0) >= 0:
		return "not text: it contains a NUL character"
	}
	return ""
}

// plainProp bounds the bytes of a plain prop besides its key and its text: quotes, colon,
// comma and a number.
const plainProp = 20

// appendPlainProp writes a prop and a comma if the prop is plain and dst has room for it. It
// writes what appendProp would write, in half the time, because it reserves room once.
func (e *encoder) appendPlainProp(dst []byte, p *Prop) (out []byte, ok bool) {
	n, room := len(dst), min(cap(dst), e.maxBytes)
	if room-n < len(p.key)+len(p.str)+plainProp || p.key == "" || len(p.key) > e.limits.PropKey || len(p.str) > e.limits.PropText || !jsontext.IsPlain(p.key) {
		return dst, false
	}
	b := dst[:room]
	n += jsontext.PutQuoted(b[n:], p.key)
	b[n] = ':'
	n++
	switch f := math.Float64frombits(p.num); {
	case p.kind == kindString && jsontext.IsPlain(p.str) && !e.guard.Suspects(p.str):
		n += jsontext.PutQuoted(b[n:], p.str)
	case (p.kind == kindInt || p.kind == kindUint) && p.num < jsontext.MaxPlain: // a negative one is not
		n += jsontext.PutUint(b[n:], p.num)
	case p.kind == kindFloat64 && jsontext.IsCents(f):
		n += jsontext.PutCents(b[n:], uint64(f*100))
	default:
		return dst, false
	}
	b[n] = ','
	return b[:n+1], true
}
