package collector

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/limit"
)

// serveAPI answers what the contract documents (section Endpoints). Paths are compared,
// not cleaned: the contract knows no other spelling.
func (c *Collector) serveAPI(w http.ResponseWriter, r *http.Request) *failure {
	id, single := strings.CutPrefix(r.URL.Path, "/v1/sites/")
	switch path := r.URL.Path; {
	case path == "/v1/events":
		return c.authenticated(w, r, http.MethodPost, c.postEvent)
	case path == "/v1/sites":
		return c.authenticated(w, r, http.MethodGet, c.listSites)
	case single && id != "" && !strings.Contains(id, "/"):
		return c.authenticated(w, r, http.MethodGet, c.getSite)
	}
	return notFound("there is no such path: " + quoted(r.URL.Path))
}

// Wrong keys that a client prefix may send: once in six seconds, and some at once.
const (
	failureRate  = 1.0 / 6
	failureBurst = 20
)

// keyed answers a request that came with the key of this id.
type keyed func(w http.ResponseWriter, r *http.Request, key string) *failure

// authenticated calls handle if method and key are right. Wrong keys do not count
// against right ones: somebody who guesses keys must not lock out who shares an address
// with him. So wrong ones are limited for the sake of logs and work, and keys are long
// enough not to be guessed.
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

// allows lets HEAD ask what GET would answer, as RFC 9110, section 9.1, has it.
func allows(method, got string) bool {
	return got == method || method == http.MethodGet && got == http.MethodHead
}

// maxKey bounds the keys that are looked at: none that was issued is near it.
const maxKey = 512

// bearerKey returns the key of a request (RFC 6750, section 2.1), or nothing. The
// scheme's case does not matter.
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

func (c *Collector) listSites(w http.ResponseWriter, _ *http.Request, _ string) *failure {
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

func (c *Collector) getSite(w http.ResponseWriter, r *http.Request, _ string) *failure {
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
