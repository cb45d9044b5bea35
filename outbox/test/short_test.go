//go:build !soak

package test

// rounds is how many processes TestOrdersAndEventsAreTheSameAfterManyKills kills.
const rounds = 20
