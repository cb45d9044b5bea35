// Package temporal tracks events of activities of Temporal. Its code has the build tag ci.
package temporal
