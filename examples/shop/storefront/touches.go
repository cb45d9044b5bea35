package storefront

import (
	"net/http"

	"github.com/footfall-dev/footfall"
)

// touches keeps how a visit began, in a cookie beside the basket. A shop with sessions on the server keeps it there: see
// examples/touch. The cookie is not signed: changing it only changes the campaign of one's own orders.
type touches struct{}

var _ footfall.TouchStore = touches{}

const touchCookie = "touch"

// Touch implements footfall.TouchStore.
func (touches) Touch(r *http.Request) string {
	cookie, err := r.Cookie(touchCookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// SetTouch implements footfall.TouchStore.
func (touches) SetTouch(w http.ResponseWriter, _ *http.Request, touch string) {
	http.SetCookie(w, &http.Cookie{Name: touchCookie, Value: touch, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
}
