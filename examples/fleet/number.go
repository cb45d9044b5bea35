package main

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// steps of a visit. The shop makes these events of them.
var steps = []struct {
	method, path string
	events       []string
}{
	{http.MethodGet, "/products/", []string{"product_viewed"}},
	{http.MethodPost, "/basket", []string{"basket_added"}},
	{http.MethodGet, "/checkout", []string{"checkout_started"}},
	{http.MethodPost, "/checkout", []string{"order_placed", "checkout_completed"}},
}

// numberKey is the key of the query that has the number of a request's first event.
const numberKey = "number"

// withNumber adds the number to an address.
func withNumber(address string, number int) string {
	return address + "?" + numberKey + "=" + strconv.Itoa(number)
}

// numberOf returns the number of the event with this name and page, or -1. A request that makes
// several events has the number of the first one.
func numberOf(name, page string) int {
	u, err := url.Parse(page)
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(u.Query().Get(numberKey))
	if err != nil {
		return -1
	}
	for _, step := range steps {
		if i := slices.Index(step.events, name); i >= 0 {
			return n + i
		}
	}
	return -1
}

// numberIn returns the number after a prefix, or -1.
func numberIn(line, prefix string) int {
	text, ok := strings.CutPrefix(line, prefix)
	n, err := strconv.Atoi(text)
	if !ok || err != nil {
		return -1
	}
	return n
}
