package footfall

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// CheckError says what Check found wrong.
type CheckError struct {
	// Field is the field to look at: Config.BaseURL, Config.APIKey or Config.SiteID. It is empty
	// if none is likely to be wrong, such as after a 503 or a timeout.
	Field  string
	Reason string
	Err    error // such as an *APIError, an error of the network, or ErrNotFound
}

func (e *CheckError) Error() string {
	text := "footfall: check: "
	if e.Field != "" {
		text += e.Field + ": "
	}
	return text + e.Reason
}

// Unwrap returns Err.
func (e *CheckError) Unwrap() error { return e.Err }

// Check asks the API for the sites of the account, with one GET, and returns nil if the API knows
// Config.SiteID. Otherwise the error is a [*CheckError], which tells whether something other than
// the API answers at Config.BaseURL, or the key is refused, or the site is missing, and which sites
// there are. A wrong Config.BaseURL or APIKey, which [New] does not check if Config.Transport is
// set, is a [*FieldError].
//
// [New] does no I/O, so Check is for the start of a program, or for its readiness. An error does
// not stop the tracker: events wait until the API accepts them. Config.AttemptTimeout and ctx
// bound the call. Check does not see what a Config.Transport does. It returns nil if the tracker is
// nil or disabled.
func (t *Tracker) Check(ctx context.Context) error {
	if t.inactive() {
		return nil
	}
	return t.check(orBackground(ctx))
}

// checkAPI is [Tracker.Check] with the configuration of an active tracker.
func checkAPI(ctx context.Context, cfg ClientConfig, siteID string) error {
	c, err := NewClient(cfg)
	if err != nil {
		return err
	}
	defer c.api.Close()
	sites, err := c.checkedSites(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(sites, func(s Site) bool { return s.ID == siteID }) {
		return &CheckError{"Config.SiteID", "the account has no site with this id; " + listSites(sites), ErrNotFound}
	}
	return nil
}

// Check asks the API for the sites of the account, with one GET, and returns nil if it answers
// with them. Otherwise the error is a [*CheckError], which tells whether something other than the
// API answers at ClientConfig.BaseURL, or the key is refused.
func (c *Client) Check(ctx context.Context) error {
	_, err := c.checkedSites(ctx)
	return err
}

func (c *Client) checkedSites(ctx context.Context) ([]Site, error) {
	sites, err := c.Sites(ctx)
	if err == nil {
		return sites, nil
	}
	e := &CheckError{Reason: withoutPrefix(err), Err: err}
	answer, answered := errors.AsType[*APIError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
	case !answered:
		e.Field = "Config.BaseURL"
	case answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden:
		e.Field = "Config.APIKey"
	case answer.Code == "" && answer.Status < 500 && answer.Status != http.StatusTooManyRequests:
		e.Field = "Config.BaseURL"
	}
	return nil, e
}

// mostListed is how many sites an error lists.
const mostListed = 10

// listSites names the sites of an account.
func listSites(sites []Site) string {
	if len(sites) == 0 {
		return "it has none: add one in the dashboard of the service"
	}
	var names []string
	for _, s := range sites[:min(len(sites), mostListed)] {
		names = append(names, fmt.Sprintf("%q (%s)", s.ID, s.Domain))
	}
	text := "it has " + strings.Join(names, ", ")
	if more := len(sites) - mostListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
