//go:build ci

package footfall_test

func init() { longTests = true }
