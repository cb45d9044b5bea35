package collector

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/event"
	"github.com/footfall-dev/footfall/collector/internal/limit"
)

// serveAPI serves the endpoints of the contract (section Endpoints). Paths are compared
// exactly: the contract has no other spelling.
func (c *Collector) serveAPI(w http.ResponseWriter, r *http.Request) *failure {
	id, single := strings.CutPrefix(r.URL.Path, "/v1/sites/")
	switch path := r.URL.Path; {
	case path == "/v1/events":
		return c.fromAPI.counting(w, r, c.serveEvents)
	case path == "/v1/sites":
		return c.authenticated(w, r, http.MethodGet, c.listSites)
	case single && id != "" && !strings.Contains(id, "/"):
		return c.authenticated(w, r, http.MethodGet, c.getSite)
	}
	return notFound("there is no such path: " + event.Quote(r.URL.Path))
}

func (c *Collector) serveEvents(w http.ResponseWriter, r *http.Request) *failure {
	return c.authenticated(w, r, http.MethodPost, only(account.ScopeEvents, c.postEvent))
}

// Requests with a wrong key that a client network may send: one in six seconds, and a burst.
const (
	failureRate  = 1.0 / 6
	failureBurst = 20
)

// keyed handles a request that was authenticated with this key.
type keyed func(w http.ResponseWriter, r *http.Request, key account.Key) *failure

// only refuses keys of another scope.
func only(scope account.Scope, handle keyed) keyed {
	return func(w http.ResponseWriter, r *http.Request, key account.Key) *failure {
		if key.Scope == scope {
			return handle(w, r, key)
		}
		message := "this API key is for events: read figures with a key for stats"
		if scope == account.ScopeEvents {
			message = "this API key is for stats: send events with a key for events"
		}
		return &failure{status: http.StatusForbidden, code: "forbidden", message: message}
	}
}

// authenticated calls handle if the method and the key are right. Only wrong keys count
// against the client's limit: a client that guesses keys must not lock out others on the same
// address. The limit bounds work and log lines; keys are too long to guess.
func (c *Collector) authenticated(w http.ResponseWriter, r *http.Request, method string, handle keyed) *failure {
	if !allows(method, r.Method) {
		return wrongMethod(method)
	}
	if secret := bearerKey(r); secret != "" {
		if key, ok := c.account.KeyOf(secret); ok {
			return handle(w, r, key)
		}
	}
	if wait := c.failures.take(limit.PrefixOf(c.client(r))); wait > 0 {
		return rateLimited("too many requests without a valid API key", wait)
	}
	return &failure{
		status:  http.StatusUnauthorized,
		code:    "unauthorized",
		message: "send a valid API key as Authorization: Bearer <API_KEY>",
	}
}

// allows reports whether got is the method, or HEAD in place of GET (RFC 9110, section 9.1).
func allows(method, got string) bool {
	return got == method || method == http.MethodGet && got == http.MethodHead
}

// maxKey bounds the keys to check, in bytes. Issued keys are far shorter.
const maxKey = 512

// bearerKey returns the key of a request (RFC 6750, section 2.1), or "". The scheme is
// case-insensitive.
func bearerKey(r *http.Request) string {
	values := r.Header["Authorization"]
	if len(values) != 1 || len(values[0]) > maxKey {
		return ""
	}
	scheme, key, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(key, " ")
}

// site is the contract's Site.
type site struct {
	ID             string `json:"id"`
	Domain         string `json:"domain"`
	CreatedAt      string `json:"created_at"`
	TrackingActive bool   `json:"tracking_active"`
}

func (c *Collector) site(s *account.Site) site {
	return site{
		ID:             s.ID,
		Domain:         s.Domain,
		CreatedAt:      s.CreatedAt.UTC().Format(time.RFC3339),
		TrackingActive: !s.Paused && c.activity.isRecent(s.ID, time.Now()),
	}
}

func (c *Collector) listSites(w http.ResponseWriter, _ *http.Request, _ account.Key) *failure {
	type meta struct {
		Total int `json:"total"`
	}
	all := c.account.Sites()
	list := make([]site, len(all))
	for i := range all {
		list[i] = c.site(&all[i])
	}
	body, _ := json.Marshal(struct {
		Data []site `json:"data"`
		Meta meta   `json:"meta"`
	}{list, meta{len(list)}}) // cannot fail
	writeJSON(w, http.StatusOK, body)
	return nil
}

func (c *Collector) getSite(w http.ResponseWriter, r *http.Request, _ account.Key) *failure {
	id := strings.TrimPrefix(r.URL.Path, "/v1/sites/")
	s, ok := c.account.Site(id)
	if !ok {
		return noSuchSite("id", id)
	}
	body, _ := json.Marshal(struct {
		Data site `json:"data"`
	}{c.site(&s)}) // cannot fail
	writeJSON(w, http.StatusOK, body)
	return nil
}
