package shell

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// ProxyRemedy says what to do about the HTTP proxy of requests to base, after an answer with the
// given status or, if that is 0, after an error. It returns "" if there is no proxy, or if the proxy
// is not the cause.
func ProxyRemedy(base string, status int, err error) string {
	u, wrong := url.Parse(base)
	if wrong != nil {
		return ""
	}
	proxy, wrong := http.ProxyFromEnvironment(&http.Request{URL: u})
	if wrong != nil || proxy == nil {
		return ""
	}
	variable := strings.ToUpper(u.Scheme) + "_PROXY"
	text := ""
	switch denied := status == http.StatusProxyAuthRequired || status == 0 && strings.Contains(err.Error(), http.StatusText(http.StatusProxyAuthRequired)); {
	case denied && proxy.User == nil:
		text = "wants a user: add user and password to " + variable
	case denied:
		text = "refuses its user: correct user and password in " + variable
	case status == 0:
		text = "does not connect: correct " + variable
	default:
		return ""
	}
	return fmt.Sprintf("the proxy %s %s, or add %s to NO_PROXY", proxy.Redacted(), text, u.Hostname())
}
