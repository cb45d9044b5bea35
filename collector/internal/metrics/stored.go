package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/footfall-dev/footfall/collector/sqlite"
)

// stored reads the state of a store at each scrape.
type stored struct{ of *sqlite.Store }

// statsTimeout bounds the reading. A scrape without an answer lacks these metrics.
const statsTimeout = 2 * time.Second

var (
	freeDesc    = prometheus.NewDesc("footfall_store_free_bytes", "Space in the database for new data.", nil, nil)
	idsDesc     = prometheus.NewDesc("footfall_store_free_text_ids", "Numbers that are free for new texts.", nil, nil)
	unsweptDesc = prometheus.NewDesc("footfall_store_unswept_texts", "Texts of removed events that are still in the database, up to a million.", nil, nil)
	expiredDesc = prometheus.NewDesc("footfall_store_expired_keys", "Idempotency keys that are not remembered but still in the database, up to a million.", nil, nil)
	backlogDesc = prometheus.NewDesc("footfall_store_compaction_backlog", "Days of sites whose figures are to be precomputed.", nil, nil)
	backupDesc  = prometheus.NewDesc("footfall_last_backup_timestamp_seconds", "Unix time of the last backup, or 0.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s stored) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{freeDesc, idsDesc, unsweptDesc, expiredDesc, backlogDesc, backupDesc} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (s stored) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	stats, err := s.of.Stats(ctx)
	if err != nil {
		return
	}
	backup := int64(0)
	if !stats.LastBackup.IsZero() {
		backup = stats.LastBackup.Unix()
	}
	for desc, value := range map[*prometheus.Desc]int64{
		freeDesc: stats.FreeBytes, idsDesc: stats.FreeTextIDs, unsweptDesc: stats.UnsweptTexts, expiredDesc: stats.ExpiredKeys,
		backlogDesc: int64(stats.BacklogDays), backupDesc: backup,
	} {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value))
	}
}
