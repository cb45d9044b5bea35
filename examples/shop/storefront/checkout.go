package storefront

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/footfall-dev/footfall"
)

// Delivery is a way to send an order.
type Delivery struct {
	ID, Name, Note string
	Price          Cents
}

// Deliveries to choose from. The first is the default.
var Deliveries = []Delivery{
	{"post", "By post", "Two or three quiet days", 490},
	{"collect", "Collect it", "From the shop, tomorrow after ten", 0},
}

// coupons take some per cent off.
var coupons = map[string]int{"SLOWDOWN": 10}

// Declined is a way to pay that always fails, to show checkout_failed.
const Declined = "declined"

// Order is an order before it is placed.
type Order struct {
	Basket   Basket
	Delivery Delivery
	Coupon   string // "" for none
	Payment  string
}

// Discount is the coupon's discount on the goods, without delivery.
func (o Order) Discount() Cents {
	return o.Basket.Price() * Cents(coupons[o.Coupon]) / 100
}

// Total is the price that the customer pays.
func (o Order) Total() Cents {
	return o.Basket.Price() - o.Discount() + o.Delivery.Price
}

// orderOf reads the checkout form. Missing fields have defaults.
func orderOf(r *http.Request) Order {
	o := Order{
		Basket:   basketOf(r),
		Delivery: Deliveries[0],
		Coupon:   strings.ToUpper(strings.TrimSpace(r.PostFormValue("coupon"))),
		Payment:  r.PostFormValue("payment"),
	}
	for _, d := range Deliveries {
		if d.ID == r.PostFormValue("delivery") {
			o.Delivery = d
		}
	}
	return o
}

// checkoutPage shows the order, and the reason if it was refused.
type checkoutPage struct {
	Order      Order
	Deliveries []Delivery
	Coupon     string // as it was typed
	BadCoupon  bool
	Declined   bool
}

func (s *shop) checkout(w http.ResponseWriter, r *http.Request) {
	o := orderOf(r)
	if len(o.Basket) == 0 {
		s.render(w, r, http.StatusConflict, "basket", o.Basket) // no checkout has begun
		return
	}
	s.render(w, r, http.StatusOK, "checkout", checkoutPage{Order: o, Deliveries: Deliveries})
}

// buy takes the order. The rules make checkout_completed or checkout_failed of its answer. An event that needs the
// order itself comes from Track: the tracker counts and logs its errors, and they do not keep the shop from selling. The
// event about money, order_placed, is committed with the order.
func (s *shop) buy(w http.ResponseWriter, r *http.Request) {
	o := orderOf(r)
	if len(o.Basket) == 0 {
		s.render(w, r, http.StatusConflict, "basket", o.Basket)
		return
	}
	if s.refused(w, r, o) {
		return
	}
	if o.Coupon != "" {
		_ = footfall.Track(r.Context(), "coupon_applied",
			footfall.P("code", o.Coupon), footfall.P("discount", o.Discount()))
	}
	number, err := s.orders.place(r.Context(), o, footfall.TouchFrom(r.Context()))
	if err != nil {
		http.Error(w, "The order was not placed. Nothing was charged.", http.StatusInternalServerError)
		return
	}
	Basket(nil).save(w)
	http.Redirect(w, r, "/thanks?order="+number, http.StatusSeeOther)
}

// refused answers an order that cannot be taken. It does not track the typed text, because
// people type all sorts of things into a coupon field.
func (s *shop) refused(w http.ResponseWriter, r *http.Request, o Order) bool {
	page := checkoutPage{Deliveries: Deliveries, Coupon: o.Coupon}
	var status int
	switch {
	case o.Coupon != "" && coupons[o.Coupon] == 0:
		status, page.BadCoupon = http.StatusUnprocessableEntity, true
		o.Coupon = ""
	case o.Payment == Declined:
		status, page.Declined = http.StatusPaymentRequired, true
	default:
		return false
	}
	page.Order = o
	s.render(w, r, status, "checkout", page)
	return true
}

// orderDigits is the length of an order's number, which has the alphabet of rand.Text.
const orderDigits = 8

var orderNumber = regexp.MustCompile(`^[A-Z2-7]{8}$`)

// thanks shows the number of the order. The number is in the query, so it is not in the
// event's URL, which keeps only the keys of Config.QueryKeys.
func (s *shop) thanks(w http.ResponseWriter, r *http.Request) {
	number := r.URL.Query().Get("order")
	if !orderNumber.MatchString(number) {
		number = ""
	}
	s.render(w, r, http.StatusOK, "thanks", number)
}
