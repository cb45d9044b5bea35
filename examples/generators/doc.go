// Package generators has the middleware around servers whose code a generator makes. Its tests run each one, as
// docs/generators.md shows it. All other files have the build tag ci, because the generators require much.
package generators

//go:generate ./generate
