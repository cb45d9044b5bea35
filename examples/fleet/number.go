package main

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

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
