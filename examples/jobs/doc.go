// Package jobs tracks events of jobs: what the packages below it, one for each system of jobs, have in common. Their
// code and tests have the build tag ci, because they need many modules, and servers.
package jobs
