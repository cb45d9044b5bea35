package main

import (
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/collector/store"
)

// propsOf returns the number of an order as two props, because the collector keeps at most 10,000
// values of a prop in a day.
func propsOf(number int) []footfall.Prop {
	return []footfall.Prop{footfall.P("thousand", number/1000), footfall.P("order", number%1000)}
}

// numberOf returns the number of the event's order, or -1.
func numberOf(e store.Event) int {
	number := 0
	for _, p := range e.Props {
		n, err := strconv.Atoi(p.Value)
		if err != nil {
			return -1
		}
		if p.Key == "thousand" {
			n *= 1000
		}
		number += n
	}
	return number
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
