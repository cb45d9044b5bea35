// Package e2e tests the whole system as a person uses it: the shop of examples/shop as a
// program, its collector, and a real browser, Chromium.
package e2e
