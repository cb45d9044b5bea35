package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersionComesFromTheBuildInformation(t *testing.T) {
	t.Parallel()
	dep := func(path, version string, replace *debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{
			Main: debug.Module{Path: "example.com/shop", Version: "v9.0.0"},
			Deps: []*debug.Module{
				{Path: "github.com/footfall-dev/footfall/adapters/footfallgin", Version: "v8.0.0"},
				{Path: path, Version: version, Replace: replace},
			},
		}
	}
	for name, row := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"a dependency":             {dep(module, "v0.1.0", nil), "v0.1.0"},
		"a pseudo-version":         {dep(module, "v0.1.1-0.20261122170000-0123456789ab", nil), "v0.1.1-0.20261122170000-0123456789ab"},
		"replaced by a fork":       {dep(module, "v0.1.0", &debug.Module{Path: "example.com/fork", Version: "v0.3.0"}), "v0.3.0"},
		"replaced by a folder":     {dep(module, "v0.1.0", &debug.Module{Path: "../footfall"}), "devel"},
		"in a workspace":           {dep(module, "(devel)", nil), "devel"},
		"not in the program":       {dep("example.com/footfall", "v0.1.0", nil), "devel"},
		"the main module":          {&debug.BuildInfo{Main: debug.Module{Path: module, Version: "v0.1.0+dirty"}}, "v0.1.0+dirty"},
		"a checkout without a VCS": {&debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}}, "devel"},
		"no build information":     {nil, "devel"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, of(row.info))
		})
	}
}

func TestUserAgentNamesLibraryAndVersion(t *testing.T) {
	t.Parallel()
	assert.Regexp(t, `^footfall-go/(devel|v[0-9.]+\S*)$`, UserAgent())
}
