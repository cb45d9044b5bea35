//go:build ci

package simulation

func init() { allSeeds = true }
