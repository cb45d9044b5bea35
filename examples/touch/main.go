// Touch is a shop whose orders are attributed to the campaign that their visitors came with. The campaign is kept in
// the session that the shop has for its cart, by scs or by gorilla/sessions.
//
//	GET  /        the shop, perhaps with ?utm_source=…
//	POST /orders  places an order
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/gorilla/sessions"

	"github.com/footfall-dev/footfall"
)

func main() {
	log.SetFlags(0)
	addr := flag.String("addr", "127.0.0.1:8080", "the address to listen at")
	library := flag.String("sessions", "scs", "the library for sessions: scs or gorilla")
	flag.Parse()
	tracker, err := footfall.New(footfall.ConfigFromEnv())
	if err != nil {
		log.Fatal(err)
	}
	shop := withSCS(tracker, scs.New())
	if *library == "gorilla" {
		shop = withGorilla(tracker, sessions.NewCookieStore([]byte(rand.Text())))
	}
	log.Printf("listening at http://%s", *addr)
	server := &http.Server{Addr: *addr, Handler: shop, ReadHeaderTimeout: 5 * time.Second}
	if err := tracker.Run(context.Background(), server); err != nil { // until SIGINT or SIGTERM
		log.Fatal(err)
	}
}

// shop answers requests, and makes an event of each order.
func shop(tracker *footfall.Tracker) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<form method="post" action="/orders"><button>Order a hat</button></form>`)
	})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "Thank you.")
	})
	return tracker.Middleware(footfall.Rule{Route: "POST /orders", Event: "order_placed", Status: footfall.Success})(mux)
}

const key = "touch"

// withSCS returns the shop with sessions of scs.
func withSCS(tracker *footfall.Tracker, manager *scs.SessionManager) http.Handler {
	return manager.LoadAndSave(tracker.KeepTouch(inSCS{manager}, footfall.TouchOptions{})(shop(tracker)))
}

// inSCS keeps a touch in a session of scs.
type inSCS struct{ *scs.SessionManager }

// Touch implements footfall.TouchStore.
func (s inSCS) Touch(r *http.Request) string { return s.GetString(r.Context(), key) }

// SetTouch implements footfall.TouchStore.
func (s inSCS) SetTouch(_ http.ResponseWriter, r *http.Request, touch string) {
	s.Put(r.Context(), key, touch)
}

// withGorilla returns the shop with sessions of gorilla/sessions.
func withGorilla(tracker *footfall.Tracker, store sessions.Store) http.Handler {
	return tracker.KeepTouch(inGorilla{store}, footfall.TouchOptions{})(shop(tracker))
}

// inGorilla keeps a touch in a session of gorilla/sessions.
type inGorilla struct{ sessions.Store }

// Touch implements footfall.TouchStore.
func (s inGorilla) Touch(r *http.Request) string {
	session, _ := s.Get(r, "shop") // a new one if that of the client is not valid
	touch, _ := session.Values[key].(string)
	return touch
}

// SetTouch implements footfall.TouchStore.
func (s inGorilla) SetTouch(w http.ResponseWriter, r *http.Request, touch string) {
	session, _ := s.Get(r, "shop")
	session.Values[key] = touch
	_ = session.Save(r, w) // otherwise the next page is the beginning of the visit
}
