package storefront

import (
	"net/http"
	"net/url"
	"strconv"
)

// maxQuantity of one product. It bounds the cookie as well.
const maxQuantity = 9

type Line struct {
	Product  *Product
	Quantity int
}

// Price of the whole line.
func (l Line) Price() Cents { return l.Product.Price * Cents(l.Quantity) }

// Basket holds lines in the order of the catalog.
type Basket []Line

const basketCookie = "basket"

// basketOf reads the basket from its cookie, such as cloud-mug=2&long-lamp=1. The
// cookie is not signed: it has no prices, so changing it only changes a basket.
// Products that the shop does not sell are left out.
func basketOf(r *http.Request) Basket {
	cookie, err := r.Cookie(basketCookie)
	if err != nil {
		return nil
	}
	stored, err := url.ParseQuery(cookie.Value)
	if err != nil {
		return nil
	}
	var b Basket
	for _, p := range Catalog {
		if n := quantity(stored.Get(p.Slug)); n > 0 {
			b = append(b, Line{p, n})
		}
	}
	return b
}

// quantity returns 0 for an invalid quantity.
func quantity(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0
	}
	return min(n, maxQuantity)
}

// save puts the basket into its cookie.
func (b Basket) save(w http.ResponseWriter) {
	stored := make(url.Values)
	for _, l := range b {
		stored.Set(l.Product.Slug, strconv.Itoa(l.Quantity))
	}
	cookie := &http.Cookie{
		Name: basketCookie, Value: stored.Encode(), Path: "/",
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if len(b) == 0 {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// With returns the basket with n more of p. Lines come in the order of the
// catalog once the cookie has been read again.
func (b Basket) With(p *Product, n int) Basket {
	for i, l := range b {
		if l.Product == p {
			b[i].Quantity = min(l.Quantity+n, maxQuantity)
			return b
		}
	}
	return append(b, Line{p, n})
}

// without returns the basket with none of p.
func (b Basket) without(p *Product) Basket {
	var rest Basket
	for _, l := range b {
		if l.Product != p {
			rest = append(rest, l)
		}
	}
	return rest
}

// Pieces returns the number of all pieces.
func (b Basket) Pieces() int {
	n := 0
	for _, l := range b {
		n += l.Quantity
	}
	return n
}

// Price of all lines.
func (b Basket) Price() Cents {
	var sum Cents
	for _, l := range b {
		sum += l.Price()
	}
	return sum
}
