// Package version returns the version of Footfall that a program contains. Module lean imports
// it too, so its names must stay.
package version

import "runtime/debug"

// module is the path of the root module.
const module = "github.com/footfall-dev/footfall"

// unknown stands for a version in a build from a checkout or without module information.
const unknown = "devel"

// UserAgent returns the User-Agent of requests to the API, such as footfall-go/v0.1.0. The
// version is footfall-go/devel in a program that was built from a checkout. Each call reads the
// build information of the program; callers keep the result.
func UserAgent() string {
	info, _ := debug.ReadBuildInfo()
	return "footfall-go/" + of(info)
}

// of returns the version of the root module in a program. A replacement counts with its own
// version, and a folder has none.
func of(info *debug.BuildInfo) string {
	if info == nil {
		return unknown
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path != module {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version != "" && m.Version != "(devel)" {
			return m.Version
		}
	}
	return unknown
}
