package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
)

// apiExam checks the API.
type apiExam struct {
	*Report
	cfg    footfall.Config
	client *footfall.Client
	sites  []footfall.Site
	mine   footfall.Site

	answer *http.Response // the last one
	before time.Time      // when its request began
	after  time.Time      // when it came
}

// RoundTrip implements http.RoundTripper. It notes the answer.
func (a *apiExam) RoundTrip(r *http.Request) (*http.Response, error) {
	begin := time.Now()
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		a.answer, a.before, a.after = answer, begin, time.Now()
	}
	return answer, err
}

// ask asks for the sites, and reports whether the API has answered with them.
func (a *apiExam) ask(ctx context.Context) bool {
	var err error
	if a.client, err = shell.NewClient(a.cfg, &http.Client{Transport: a}); err != nil {
		a.add("API", Bad, err.Error(), "")
		return false
	}
	err = a.client.Check(ctx)
	if err == nil {
		a.sites, err = a.client.Sites(ctx)
	}
	if a.answer != nil {
		a.clock()
	}
	if err == nil {
		a.add("API", Good, fmt.Sprintf("GET /v1/sites answered in %s", a.after.Sub(a.before).Round(100*time.Microsecond)), "")
		a.add("key", Good, "accepted", "")
		return true
	}
	a.refused(err)
	return false
}

// refused reports why the API did not answer with the sites.
func (a *apiExam) refused(err error) {
	reason := strings.TrimPrefix(err.Error(), "footfall: ")
	check, ok := errors.AsType[*footfall.CheckError](err)
	if ok {
		reason = check.Reason
	}
	status := 0
	if a.answer != nil {
		status = a.answer.StatusCode
	}
	proxy := shell.ProxyRemedy(a.cfg.BaseURL, status, err)
	timedOut := errors.Is(err, context.DeadlineExceeded)
	switch {
	case proxy != "":
		a.add("API", Bad, reason, proxy)
	case status == 0 && timedOut:
		a.add("API", Bad, fmt.Sprintf("no answer within %v", shell.Timeout), "something takes the connection and does not answer: see that the service listens on this port, and look at its log")
	case status == 0:
		a.add("API", Bad, reason, "the connection ends without an answer of HTTP: check scheme and port of FOOTFALL_BASE_URL, and the reverse proxy")
	case ok && check.Field == "Config.APIKey":
		a.add("API", Good, "answers", "")
		a.add("key", Bad, reason, "issue a key in the dashboard of the service, and set FOOTFALL_API_KEY to it")
		return
	case ok && check.Field == "":
		a.add("API", Bad, reason, "the address is right, but the service has trouble: look at its log, and try again")
	case status >= 300 && status < 400:
		a.add("API", Bad, reason, fmt.Sprintf("the server redirects to %q, and redirects are not followed: set FOOTFALL_BASE_URL to the address of the API itself", a.answer.Header.Get("Location")))
	default:
		a.add("API", Bad, reason, "something other than the API answers: check host, port and path of FOOTFALL_BASE_URL, which ends before /v1, and the reverse proxy")
	}
	a.add("key", Skipped, "not checked, because the API did not answer", "")
}

// maxSkew is the largest difference that needs no attention. Date has whole seconds.
const maxSkew = 30 * time.Second

// clock compares the clock of this machine with the Date header of the answer.
func (a *apiExam) clock() {
	date, err := http.ParseTime(a.answer.Header.Get("Date"))
	if err != nil {
		a.add("clock", Skipped, "the answer has no Date header", "")
		return
	}
	skew := time.Duration(0)
	switch {
	case date.Add(time.Second).Before(a.before):
		skew = a.before.Sub(date)
	case date.After(a.after):
		skew = a.after.Sub(date)
	}
	found := "within a second of the server's"
	switch {
	case skew > 0:
		found = skew.Round(time.Second).String() + " ahead of the server's"
	case skew < 0:
		found = (-skew).Round(time.Second).String() + " behind the server's"
	}
	if skew.Abs() > maxSkew {
		a.add("clock", Warn, found, "synchronize both clocks, such as with NTP: certificates and the dates of logs depend on them")
	} else {
		a.add("clock", Good, found, "")
	}
}

// site reports whether the account has the site.
func (a *apiExam) site() bool {
	i := slices.IndexFunc(a.sites, func(s footfall.Site) bool { return s.ID == a.cfg.SiteID })
	if i >= 0 {
		a.mine = a.sites[i]
		found := fmt.Sprintf("%s is %s", a.mine.ID, a.mine.Domain)
		if a.mine.TrackingActive {
			a.add("site", Good, found, "")
		} else {
			a.add("site", Warn, found+", paused or without recent events; the API does not say which",
				"if it is paused, its events are rejected and lost: resume it in its settings in the dashboard. A site without events yet needs nothing; -send shows whether an event is accepted")
		}
		return true
	}
	remedy := "the account has no site: add one in the dashboard of the service"
	if len(a.sites) > 0 {
		remedy = "set FOOTFALL_SITE_ID to one of these; footfall sites lists all: " + names(a.sites)
	}
	for _, s := range a.sites {
		if s.Domain == a.cfg.SiteID {
			remedy = "this is a domain: set FOOTFALL_SITE_ID to " + s.ID
		}
	}
	a.add("site", Bad, fmt.Sprintf("the account has no site %q", a.cfg.SiteID), remedy)
	return false
}

// names lists the first sites.
func names(sites []footfall.Site) string {
	const most = 5
	var list []string
	for _, s := range sites[:min(len(sites), most)] {
		list = append(list, s.ID+" ("+s.Domain+")")
	}
	return strings.Join(list, ", ")
}

// send sends an event if it is wanted.
func (a *apiExam) send(ctx context.Context, wanted bool, page string) {
	switch {
	case !wanted:
		a.add("event", Skipped, "none sent; -send sends one, which counts in the dashboard", "")
		return
	case a.cfg.SiteID == "":
		a.add("event", Bad, "none sent, because there is no site", "set FOOTFALL_SITE_ID to the site of the event; footfall sites lists them")
		return
	case a.cfg.Disabled:
		a.add("event", Bad, "none sent, because FOOTFALL_DISABLED is true", "unset it to send an event")
		return
	}
	e := footfall.Event{SiteID: a.mine.ID, Name: "footfall_doctor", URL: cmp.Or(page, a.cfg.DefaultURL, "https://"+a.mine.Domain+"/")}
	err := a.client.Send(ctx, e)
	if err == nil {
		a.add("event", Good, "accepted: footfall_doctor on "+e.URL+"; it appears in the dashboard within seconds", "")
		return
	}
	remedy := "look at the log of the service, and try again"
	if _, wrong := errors.AsType[*footfall.FieldError](err); wrong {
		remedy = "set -url or FOOTFALL_DEFAULT_URL to a page, such as https://" + a.mine.Domain + "/"
	} else if answer, ok := errors.AsType[*footfall.APIError](err); ok && answer.Status == http.StatusConflict {
		remedy = "resume the site in its settings in the dashboard"
	} else if ok && answer.Status == http.StatusBadRequest {
		remedy = "the site may accept only pages of its own domain: set -url or FOOTFALL_DEFAULT_URL to one"
	}
	a.add("event", Bad, strings.TrimPrefix(err.Error(), "footfall: "), remedy)
}
