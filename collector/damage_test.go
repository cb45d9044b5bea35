package collector

import (
	"context"
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

func TestDamageThatAReportMeetsTurnsHealthBad(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "footfall.db")
	st, err := sqlite.Open(t.Context(), sqlite.Config{File: file})
	require.NoError(t, err)
	var log strings.Builder
	s := prepare(t, Config{Store: st, Logger: textLogger(&log)})
	stop := s.listen(t)
	require.Equal(t, http.StatusAccepted, s.api(t, "POST", "/v1/events", s.event("signup", pageURL, `{"plan":"pro"}`)).status)
	assert.Equal(t, http.StatusOK, s.do(t, "GET", "/healthz", "").status)

	damage, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	_, err = damage.ExecContext(t.Context(), "UPDATE event SET props = x'08'")
	require.NoError(t, err)
	require.NoError(t, damage.Close())
	_, err = st.Recent(t.Context(), store.Query{Site: s.site.ID, From: time.Unix(0, 0), To: time.Now().Add(time.Hour)}, 1)
	require.Error(t, err)

	a := s.do(t, "GET", "/healthz", "")
	assert.Equal(t, http.StatusServiceUnavailable, a.status)
	assert.Contains(t, a.body, "the store is damaged; the log says which file")
	assert.NotContains(t, a.body, "footfall.db", "the endpoint is public")
	assert.Equal(t, http.StatusOK, s.do(t, "GET", "/livez", "").status)
	require.NoError(t, stop())
	require.NoError(t, s.Close(context.Background()))
	require.NoError(t, st.Close())
	assert.Contains(t, log.String(), file)
}
