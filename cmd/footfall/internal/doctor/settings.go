package doctor

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
)

// setting is an environment variable that footfall.ConfigFromEnv reads.
type setting struct {
	name, field string // FOOTFALL_BASE_URL and Config.BaseURL
	absent      string // what applies if the variable is not set
	correct     string // what to set it to
}

var settings = []setting{
	{"FOOTFALL_BASE_URL", "Config.BaseURL", "required", "the address of the API, such as https://stats.example.com"},
	{"FOOTFALL_API_KEY", "Config.APIKey", "required", "a key of the account, as the dashboard showed it"},
	{"FOOTFALL_SITE_ID", "Config.SiteID", "required", "the id of a site; footfall sites lists them"},
	{"FOOTFALL_DEFAULT_URL", "Config.DefaultURL", "events without a page are refused", "a page, such as https://shop.example.com/worker, or unset it"},
	{"FOOTFALL_PUBLIC_URL", "Config.PublicURL", "pages have the host of the request", "scheme and host of the pages, such as https://shop.example.com, or unset it"},
	{"FOOTFALL_TRUSTED_PROXIES", "Config.TrustedProxies", "no proxy is trusted", "addresses and prefixes separated by commas, such as 10.0.0.0/8,::1, or unset it"},
	{"FOOTFALL_ALLOW_HTTP", "Config.AllowHTTP", "plain http only on loopback", "true or false, or unset it"},
	{"FOOTFALL_DISABLED", "Config.Disabled", "false", "true or false, or unset it"},
}

// use is what the settings are for.
type use int

const (
	tracks    use = iota // to the API
	relays               // from NATS to the API; needs no site
	publishes            // to NATS; needs no address and no key of the API
)

// useOf guesses what the settings are for. Programs that use NATS have no key of the API.
func useOf(cfg footfall.Config, viaNATS bool) use {
	switch {
	case !viaNATS:
		return tracks
	case cfg.BaseURL == "" && cfg.APIKey == "":
		return publishes
	}
	return relays
}

// settings reports each setting, and where it came from.
func (r *Report) settings(cfg footfall.Config, u use) {
	problems := shell.FieldErrors(shell.CheckConfig(cfg))
	if u == publishes {
		delete(problems, "Config.BaseURL")
		delete(problems, "Config.APIKey")
	}
	for _, s := range settings {
		if u == publishes && s.field == "Config.SiteID" { // footfall sites needs a key
			s.correct = "the id of a site, as the dashboard shows it"
		}
		value, found := os.LookupEnv(s.name)
		reason := cmp.Or(problems[s.field], problems[s.name])
		switch {
		case reason != "":
			r.add(s.name, Bad, reason, s.remedy(reason))
		case !found || value == "":
			r.settingAbsent(s, u)
		case s.name == "FOOTFALL_DISABLED" && cfg.Disabled:
			r.add(s.name, Warn, s.shown(value), "the program tracks nothing: unset it where events are wanted")
		default:
			r.add(s.name, Good, s.shown(value), "")
		}
	}
}

func (r *Report) settingAbsent(s setting, u use) {
	switch {
	case u == publishes && s.absent == "required" && s.field != "Config.SiteID":
		r.add(s.name, Skipped, "not set: a program that publishes to NATS needs none, a relay needs it", "")
	case u == relays && s.field == "Config.SiteID":
		r.add(s.name, Skipped, "not set: a relay needs none, a program that tracks needs it", "")
	case s.field == "Config.SiteID":
		r.add(s.name, Bad, "not set", s.remedy(""))
	default:
		r.add(s.name, Good, "not set: "+s.absent, "")
	}
}

// shown returns a value without secrets, and its source.
func (s setting) shown(value string) string {
	if s.field == "Config.APIKey" {
		value = fmt.Sprintf("set, %d characters", len(value))
	}
	return value + " (from the environment)"
}

// remedy says what to set the variable to, unless the reason says it.
func (s setting) remedy(reason string) string {
	if strings.Contains(reason, s.name) {
		return ""
	}
	return "set it to " + s.correct
}
