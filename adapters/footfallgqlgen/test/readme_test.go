//go:build ci

package footfallgqlgen_test

import (
	"testing"

	"github.com/footfall-dev/footfall/adapters/adaptertest"
)

func TestTheProgramOfTheREADMECompiles(t *testing.T) {
	t.Parallel()
	adaptertest.ReadmeCompiles(t, "..")
}
