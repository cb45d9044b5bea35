//go:build ci

package spool_test

func init() { ci = true }
