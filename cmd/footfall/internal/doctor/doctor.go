// Package doctor checks the settings of a program, the network, the API and NATS.
package doctor

import (
	"context"
	"net/url"

	"github.com/footfall-dev/footfall"
)

// Exam is what doctor examines.
type Exam struct {
	Config footfall.Config
	Send   bool   // an event
	Page   string // of the event; may be empty
	Route  string // of the page, as a middleware knows it; may be empty
	NATS   NATSExam
}

// Run checks what an event needs, in the order of use. A check that depends on a failed one is skipped.
func (x *Exam) Run(ctx context.Context) *Report {
	viaNATS := len(x.NATS.Servers.URLs) > 0
	u := useOf(x.Config, viaNATS)
	r := &Report{OK: true}
	r.settings(x.Config, u)
	r.unknownVariables()
	r.page(ctx, x.Page, x.Route)
	if !r.OK {
		r.WrongSettings = true
		r.add("network", Skipped, "not checked, because a setting is wrong", "")
		return r
	}
	if u != publishes {
		x.api(ctx, r)
	} else if x.Send {
		r.add("event", Bad, "none sent, because there is no API to send it to", "-send asks the API: set FOOTFALL_BASE_URL and FOOTFALL_API_KEY, or omit -send")
	}
	if viaNATS {
		x.NATS.Report, x.NATS.use = r, u
		x.NATS.run(ctx)
	}
	return r
}

// api checks the API.
func (x *Exam) api(ctx context.Context, r *Report) {
	base, err := url.Parse(x.Config.BaseURL)
	if err != nil { // settings has parsed it
		r.add("network", Bad, err.Error(), "")
		return
	}
	if !r.reach(ctx, base) {
		r.add("API", Skipped, "not asked, because there is no connection", "")
		return
	}
	a := &apiExam{cfg: x.Config, Report: r}
	if a.ask(ctx) && (x.Config.SiteID == "" || a.site()) {
		a.send(ctx, x.Send, x.Page)
	}
}
