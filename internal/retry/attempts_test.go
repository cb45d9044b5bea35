package retry

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnEventBecomesASuspectOnce(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		slow []bool // strikes
		want []bool // it has become a suspect
	}{
		"two strikes":          {[]bool{false, false, false}, []bool{false, true, false}},
		"a slow strike":        {[]bool{true, false}, []bool{true, false}},
		"a second slow strike": {[]bool{false, true, true}, []bool{false, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a Attempts
			for i, slow := range row.slow {
				assert.Equal(t, row.want[i], a.Strike(slow), i)
			}
			assert.True(t, a.Suspect())
		})
	}
}
