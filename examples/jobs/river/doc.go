// Package river tracks events of River, in PostgreSQL. Its code has the build tag ci.
package river
