package footfall

import (
	"errors"
	"strconv"
)

// Props that an event has besides its own: from the context, and from Config.Props.

// fixedProp is a prop of Config.Props, encoded once.
type fixedProp struct {
	Prop
	text string // with a comma
}

// with returns e with the key of a prop for the landing page, and props that each event has. They are valid.
func (e encoder) with(landing string, props []Prop) encoder {
	e.landing = landing
	for _, p := range lastOfEach(props) {
		text, _, _ := e.appendEntry(nil, &p)
		e.fixed = append(e.fixed, fixedProp{p, string(text)})
	}
	return e
}

// checkFixed reports why props cannot be part of each event.
func (e *encoder) checkFixed(props []Prop, report func(reason string)) {
	d := draft{siteID: "s", name: "n", url: "https://example.com/", props: props}
	_, _, err := e.append(nil, &d)
	if bad, ok := errors.AsType[*FieldError](err); ok {
		report(bad.Field + ": " + bad.Reason)
	}
	e.eachRedacted(&d, func(key string) {
		report(strconv.Quote(key) + " looks like personal data: add the key to AllowPIIKeys if it is none")
	})
}

// appendMore writes the props of Config.Props and those of the context that own does not have. n is the number of all
// props, own included.
func (e *encoder) appendMore(dst []byte, own, more []Prop) (out []byte, n, redacted int, err error) {
	n = len(own)
	for i := range e.fixed {
		if p := &e.fixed[i]; !contains(own, p.key) && !contains(more, p.key) {
			dst = append(dst, p.text...)
			n++
		}
	}
	for i := range more {
		if contains(own, more[i].key) {
			continue
		}
		var personal bool
		if dst, personal, err = e.appendEntry(dst, &more[i]); err != nil {
			return dst, n, redacted, err
		}
		if personal {
			redacted++
		}
		n++
	}
	return dst, n, redacted, nil
}
