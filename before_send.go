package footfall

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// hook is Config.BeforeSend, and what an event has if it does not say so itself.
type hook struct {
	call   func(Event) (Event, bool)
	siteID string
}

func newHook(cfg *Config) *hook {
	if cfg.BeforeSend == nil {
		return nil
	}
	return &hook{cfg.BeforeSend, cfg.SiteID}
}

// errHookEnded is reported if Config.BeforeSend ended the goroutine of Track.
var errHookEnded = errors.New("footfall: runtime.Goexit was called in Config.BeforeSend")

// filter calls Config.BeforeSend, and makes d the event that it returns. It reports whether that is to be sent.
func (t *Tracker) filter(d *draft) (send bool, err error) {
	if err := cmp.Or(invalid(d.props), invalid(d.more)); err != nil {
		return false, err // not seen by the hook, which could make valid props of them
	}
	e, hidden := t.eventOf(d)
	was, returned := e.URL, false
	defer func() {
		if v := recover(); v != nil {
			send, err = false, fmt.Errorf("footfall: panic in Config.BeforeSend: %v", v)
		} else if !returned {
			t.refuse(d, errHookEnded)
		}
	}()
	e, send = t.hook.call(e)
	returned = true
	if !send {
		t.filtered.Add(1)
		return false, nil
	}
	if e.URL != was {
		hidden = 0
	}
	*d = draft{siteID: e.SiteID, name: e.Name, url: e.URL, props: e.Props, whole: true, id: e.ID, hidden: hidden, sanitized: d.sanitized}
	return true, nil
}

// eventOf returns the whole event of d, and how many values of its URL the guard has replaced. It copies all texts: what
// a function of the application may keep would otherwise be allocated by each call to Track.
func (t *Tracker) eventOf(d *draft) (e Event, hidden int) {
	e = Event{
		SiteID: cmp.Or(strings.Clone(d.siteID), t.hook.siteID),
		Name:   strings.Clone(d.name),
		ID:     strings.Clone(d.id),
	}
	e.URL, hidden = t.encoder.urlOf(d)
	for i := range t.encoder.fixed {
		e.Props = append(e.Props, t.encoder.fixed[i].Prop)
	}
	for _, props := range [...][]Prop{d.more, d.props} {
		for _, p := range props {
			e.Props = append(e.Props, Prop{strings.Clone(p.key), strings.Clone(p.str), p.num, p.kind})
		}
	}
	e.Props = lastOfEach(e.Props)
	return e, hidden
}

// urlOf returns the URL of d, or "", and how many values of it the guard replaced.
func (e *encoder) urlOf(d *draft) (url string, redacted int) {
	switch {
	case d.url != "":
		url = strings.Clone(d.url)
	case d.page == nil || !d.page.usable():
		url = e.byDefault
	case d.page.exact() != "":
		url = strings.Clone(d.page.url)
	default:
		url, redacted = e.pageURL(d)
	}
	if d.touch != nil && url != "" {
		url = d.touch.on(url, e.limits.URL)
	}
	return url, redacted
}

// pageURL returns the URL of the page of d.
func (e *encoder) pageURL(d *draft) (url string, redacted int) {
	field, redacted := e.appendPage(nil, d)
	if string(field) == e.defaultURL {
		return e.byDefault, redacted
	}
	return strings.Trim(string(field[len(urlKey):]), `"`), redacted
}
