// Bench does the same work with Footfall and with the SDKs that a Go backend would pick
// instead, on one machine in one run, and prints what it found as Markdown.
//
//	go run .                 everything, below 20 minutes; writes RESULTS.md and results.json
//	go run . -quick          A1, A2, B and C, below 2 minutes; writes nothing unless -out says where
//	go run . -only A1,G      some experiments
//
// Each experiment is a package with its method in it; package peers has the SDKs as they
// are set up, and package report what the tables look like. A figure is a median, and
// counts only beside the others of its run: machines and neighbours differ.
package main
