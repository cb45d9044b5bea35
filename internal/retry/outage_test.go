package retry

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Began and Suspect get JSON texts, which wire.SiteAndName returns.
func TestTheLogNamesSiteAndNameAsTheApplicationWroteThem(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ site, name, want string }{
		"plain":   {`"site_1"`, `"bad"`, "site=site_1 name=bad error"},
		"escaped": {`"site \"1\""`, `"a\u003cb\n"`, `site="site \"1\"" name="a<b\n" error`},
		"unknown": {"", "", `site="" name="" error`},
		"no JSON": {"site_1", "bad", `site=site_1 name=bad error`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			l := Log{To: slog.New(slog.NewTextHandler(&out, nil))}
			l.Began(Later, false, row.site, row.name, errors.New("no"), time.Now())()
			assert.Contains(t, out.String(), row.want)

			out.Reset()
			l.Suspect("evt_1", row.site, row.name, errors.New("no"), time.Now())()
			assert.Contains(t, out.String(), "id=evt_1 "+row.want)
		})
	}
}
