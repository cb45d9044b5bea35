package storefront

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"

	"github.com/footfall-dev/footfall"
)

//go:embed templates/*.html templates/shop.css
var files embed.FS

// shop answers with pages.
type shop struct {
	pages  map[string]*template.Template
	style  []byte
	orders *Orders

	script *Script
	policy string
}

// Script is Footfall's script, which counts the pages that a browser shows. Nil means none.
type Script struct {
	Service string // base URL of the collector
	Domain  string // of the shop, as registered there
}

// New returns the shop with the middleware around it. orders and script may be nil. It returns an error for a
// rule whose route is misspelt, because such a rule never makes an event.
//
// The check for forged forms is before the middleware, so that a refused form does not count
// as checkout_failed. KeepTouch gives all events below it the campaign that the visitor first came with.
func New(tracker *footfall.Tracker, orders *Orders, script *Script) (http.Handler, error) {
	mux := newShop(orders, script).routes()
	if err := tracker.CheckRules(mux, Rules...); err != nil {
		return nil, err
	}
	tracked := tracker.Middleware(Rules...)(mux)
	touched := tracker.KeepTouch(touches{}, footfall.TouchOptions{First: true})(tracked)
	sameOrigin := http.NewCrossOriginProtection().Handler(touched)
	return http.MaxBytesHandler(sameOrigin, maxForm), nil
}

// maxForm is more than any form of the shop needs.
const maxForm = 16 << 10

// newShop parses the pages. They are part of the program, so newShop panics if one is
// invalid.
func newShop(orders *Orders, script *Script) *shop {
	s := &shop{pages: make(map[string]*template.Template), orders: orders, script: script, policy: policy}
	if script != nil {
		s.policy += "; script-src " + script.Service + "; connect-src " + script.Service
	}
	functions := template.FuncMap{"drawing": drawing}
	for _, name := range []string{"home", "product", "basket", "checkout", "thanks", "lost"} {
		page := template.New("layout.html").Funcs(functions)
		s.pages[name] = template.Must(page.ParseFS(files, "templates/layout.html", "templates/"+name+".html"))
	}
	style, err := files.ReadFile("templates/shop.css")
	if err != nil {
		panic(err)
	}
	s.style = style
	return s
}

func (s *shop) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("GET /products/{slug}", s.product)
	mux.HandleFunc("GET /basket", s.basket)
	mux.HandleFunc("POST /basket", form(s.add))
	mux.HandleFunc("POST /basket/remove", form(s.remove))
	mux.HandleFunc("GET /checkout", s.checkout)
	mux.HandleFunc("POST /checkout", form(s.buy))
	mux.HandleFunc("GET /thanks", s.thanks)
	mux.HandleFunc("GET /shop.css", s.stylesheet)
	mux.HandleFunc("GET /", s.lost)
	return mux
}

// form refuses a body that is too large or not a form, before a handler reads it.
func form(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			http.Error(w, "The form could not be read.", http.StatusBadRequest)
			return
		}
		next(w, r)
	}
}

func (s *shop) home(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, http.StatusOK, "home", Catalog)
}

func (s *shop) product(w http.ResponseWriter, r *http.Request) {
	p := Find(r.PathValue("slug"))
	if p == nil {
		s.lost(w, r)
		return
	}
	s.render(w, r, http.StatusOK, "product", p)
}

func (s *shop) lost(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, http.StatusNotFound, "lost", nil)
}

func (s *shop) basket(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, http.StatusOK, "basket", basketOf(r))
}

func (s *shop) add(w http.ResponseWriter, r *http.Request) {
	p, n := Find(r.PostFormValue("product")), quantity(r.PostFormValue("quantity"))
	if p == nil {
		s.lost(w, r)
		return
	}
	basketOf(r).With(p, max(n, 1)).save(w)
	http.Redirect(w, r, "/basket", http.StatusSeeOther)
}

func (s *shop) remove(w http.ResponseWriter, r *http.Request) {
	p := Find(r.PostFormValue("product"))
	if p == nil {
		s.lost(w, r)
		return
	}
	basketOf(r).without(p).save(w)
	http.Redirect(w, r, "/basket", http.StatusSeeOther)
}

func (s *shop) stylesheet(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "max-age=60")
	_, _ = w.Write(s.style) // the customer may be gone
}

// view is the data of every page.
type view struct {
	Shop   string
	Pieces int // in the basket; the head of the page shows it
	Script *Script
	Page   any
}

// policy allows a page to load its style sheet and the collector's script, nothing else.
const policy = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// render writes a page after executing the whole template: half a page would have the wrong
// status, and make the wrong event.
func (s *shop) render(w http.ResponseWriter, r *http.Request, status int, name string, page any) {
	var html bytes.Buffer
	err := s.pages[name].Execute(&html, view{Shop: Name, Pieces: basketOf(r).Pieces(), Script: s.script, Page: page})
	if err != nil {
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache") // the basket changes
	w.Header().Set("Content-Security-Policy", s.policy)
	w.Header().Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	_, _ = html.WriteTo(w) // the customer may be gone
}
