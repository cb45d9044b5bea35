package doctor

import (
	"os"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// variables lists all environment variables that a part of the project reads: the library, this command
// and the collector. A program and the collector may have the same environment.
var variables = []string{
	// the library
	"FOOTFALL_BASE_URL", "FOOTFALL_API_KEY", "FOOTFALL_SITE_ID", "FOOTFALL_DEFAULT_URL", "FOOTFALL_PUBLIC_URL",
	"FOOTFALL_TRUSTED_PROXIES", "FOOTFALL_ALLOW_HTTP", "FOOTFALL_DISABLED",

	// this command
	"FOOTFALL_STATS_KEY", "FOOTFALL_NATS_URL", "FOOTFALL_NATS_USER", "FOOTFALL_NATS_PASSWORD", "FOOTFALL_NATS_CREDS", "FOOTFALL_NATS_CA",
	"FOOTFALL_NATS_CERT", "FOOTFALL_NATS_KEY", "FOOTFALL_NATS_MONITOR", "FOOTFALL_NATS_STREAM", "FOOTFALL_NATS_SUBJECT",
	"FOOTFALL_NATS_CONSUMER", "FOOTFALL_NATS_REPLICAS", "FOOTFALL_NATS_MAX_BYTES", "FOOTFALL_NATS_MAX_AGE",
	"FOOTFALL_NATS_DUPLICATE_WINDOW", "FOOTFALL_NATS_REJECTED_MAX_BYTES", "FOOTFALL_NATS_REJECTED_MAX_AGE",
	"FOOTFALL_RATE", "FOOTFALL_ACK_WAIT", "FOOTFALL_MAX_HELD", "FOOTFALL_MAX_ACK_PENDING", "FOOTFALL_STOP_TIMEOUT",
	"FOOTFALL_METRICS", "FOOTFALL_EMBEDDED", "FOOTFALL_EMBEDDED_LISTEN",

	// the collector
	"FOOTFALL_DATA", "FOOTFALL_LISTEN", "FOOTFALL_RETENTION", "FOOTFALL_KEY_RATE", "FOOTFALL_MAX_CONNECTIONS",
	"FOOTFALL_IDEMPOTENCY_WINDOW",
}

// unknownVariables reports the variables whose names begin with FOOTFALL_ and that nothing reads. It does
// not print their values: one of them may be a key.
func (r *Report) unknownVariables() {
	for _, name := range unknown(os.Environ()) {
		r.add(name, Warn, "set, but no part of Footfall reads this variable", "correct its name, of which the nearest one is "+nearest(name)+", or unset it")
	}
}

// unknown returns the names of an environment that begin with FOOTFALL_ and are not in variables, sorted.
func unknown(environ []string) (names []string) {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "FOOTFALL_") && !slices.Contains(variables, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// nearest returns the first of variables with the least edit distance from name.
func nearest(name string) string {
	return slices.MinFunc(variables, func(a, b string) int { return distance(a, name) - distance(b, name) })
}

// distance returns how many runes have to be inserted or removed to make b of a. A replacement counts twice, so that
// FOOTFALL_SITE is nearer to FOOTFALL_SITE_ID than to FOOTFALL_RATE.
func distance(a, b string) int {
	return levenshtein.Distance(a, b, levenshtein.NewParams().SubCost(2))
}
