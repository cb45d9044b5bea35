// Bench compares Footfall with the SDKs that a Go backend might use instead, on one machine in
// one run, and prints the results as Markdown.
//
//	go run .                 everything, below 20 minutes; writes RESULTS.md and results.json
//	go run . -quick          A1, A2, B and C, below 2 minutes; writes nothing unless -out says where
//	go run . -only A1,G      some experiments
//
// Each experiment is a package that documents its method. Package peers sets up the SDKs, and
// package report formats the tables. A figure is a median. Compare it only with others of its
// run, because machines differ.
package main
