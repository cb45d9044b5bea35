package doctor

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDoctorKnowsEachVariableOfTheLibrary(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../config.go")
	require.NoError(t, err)
	_, doc, found := strings.Cut(string(text), "// ConfigFromEnv returns")
	require.True(t, found)
	doc, _, _ = strings.Cut(doc, "\nfunc ")
	var listed []string
	for _, s := range settings {
		listed = append(listed, s.name)
	}
	assert.Equal(t, listed, regexp.MustCompile(`FOOTFALL_\w+`).FindAllString(doc, -1))
}
