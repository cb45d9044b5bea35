// Package e2e holds tests that use the whole of it as a person does: the shop of
// examples/shop as a program, its collector, and a real browser, Chromium.
package e2e
