package footfall

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const secretKey = "sk_live_s3cr3t-k3y"

// rightConfig returns a Config without problems.
func rightConfig() Config {
	return Config{BaseURL: "https://api.example.com", APIKey: secretKey, SiteID: "site_1"}
}

// fieldsOf returns the field of each error that err joins.
func fieldsOf(t *testing.T, err error) []string {
	t.Helper()
	require.Error(t, err)
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "%T does not join errors", err)
	var fields []string
	for _, problem := range joined.Unwrap() {
		field, ok := errors.AsType[*FieldError](problem)
		require.True(t, ok, "%T", problem)
		assert.NotEmpty(t, field.Reason)
		fields = append(fields, strings.TrimPrefix(field.Field, "Config."))
	}
	return fields
}

// checkAsNewDoes is New without its goroutine.
func (c Config) checkAsNewDoes() error {
	c = c.withDefaults()
	return c.check()
}

func TestConfigReportsEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	_, err := New(Config{
		BaseURL: "http://api.example.com", APIKey: secretKey + "\n", SiteID: " ",
		DefaultURL: "/" + secretText, PublicURL: "https://example.com/?" + secretText,
		MaxQueueEvents: -1, MaxQueueBytes: -1, MaxEventBytes: -1, BatchSize: -1, FlushInterval: -1, MaxInFlight: -1,
		AttemptTimeout: -1, BackoffMin: -1, BackoffMax: -1, MaxRetryAfter: -1, ProbeMin: -1, ProbeMax: -1,
		ShutdownTimeout: -1, CloseTimeout: -1,
		Limits: Limits{-1, -1, -1, -1, -1},
	})
	assert.ElementsMatch(t, []string{
		"BaseURL", "APIKey", "SiteID", "DefaultURL", "PublicURL",
		"MaxQueueEvents", "MaxQueueBytes", "MaxEventBytes", "BatchSize", "FlushInterval", "MaxInFlight",
		"AttemptTimeout", "BackoffMin", "BackoffMax", "MaxRetryAfter", "ProbeMin", "ProbeMax",
		"ShutdownTimeout", "CloseTimeout",
		"Limits.Name", "Limits.URL", "Limits.Props", "Limits.PropKey", "Limits.PropText",
	}, fieldsOf(t, err))
	assert.NotContains(t, err.Error(), secretKey)
	assert.NotContains(t, err.Error(), secretText)
}

func TestConfigWithThreeMistakesNamesAllThree(t *testing.T) {
	t.Parallel()
	cfg := rightConfig()
	cfg.BaseURL, cfg.SiteID, cfg.BatchSize = "api.example.com", "", -3
	tracker, err := New(cfg)
	assert.Nil(t, tracker)
	assert.ElementsMatch(t, []string{"BaseURL", "SiteID", "BatchSize"}, fieldsOf(t, err))
	for _, name := range []string{"Config.BaseURL", "Config.SiteID", "Config.BatchSize"} {
		assert.ErrorContains(t, err, name)
	}
}

func TestEmptyConfigNamesTheRequiredFields(t *testing.T) {
	t.Parallel()
	_, err := New(Config{})
	assert.Equal(t, []string{"BaseURL", "APIKey", "SiteID"}, fieldsOf(t, err))
	for _, variable := range []string{"FOOTFALL_BASE_URL", "FOOTFALL_API_KEY", "FOOTFALL_SITE_ID"} {
		assert.ErrorContains(t, err, variable)
	}
}

func TestDisabledConfigIsNotChecked(t *testing.T) {
	t.Parallel()
	tracker, err := New(Config{Disabled: true, BatchSize: -1})
	require.NoError(t, err)
	assert.NoError(t, tracker.Track(t.Context(), ""))
}

func TestConfigBaseURL(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		url       string
		allowHTTP bool
		ok        bool
	}{
		"https":                  {"https://api.example.com", false, true},
		"slash":                  {"https://api.example.com/", false, true},
		"path":                   {"https://api.example.com/analytics/", false, true},
		"port":                   {"https://api.example.com:8443", false, true},
		"path that ends like v1": {"https://api.example.com/ev1", false, true},
		"plain http":             {"http://api.example.com", false, false},
		"plain http allowed":     {"http://api.example.com", true, true},
		"HTTP in capitals":       {"HTTP://api.example.com", false, false},
		"plain http, private":    {"http://10.0.0.1", false, false},
		"localhost":              {"http://localhost:8080", false, true},
		"below localhost":        {"http://api.localhost:8080", false, true},
		"like localhost":         {"http://localhost.example.com", false, false},
		"ends in localhost":      {"http://notlocalhost", false, false},
		"127.0.0.1":              {"http://127.0.0.1:8080", false, true},
		"127.9.9.9":              {"http://127.9.9.9", false, true},
		"like 127.0.0.1":         {"http://127.0.0.1.example.com", false, false},
		"IPv6 loopback":          {"http://[::1]:8080", false, true},
		"IPv6":                   {"http://[2001:db8::1]:8080", false, false},
		"every address":          {"http://0.0.0.0", false, false},
		"user in front":          {"http://localhost@api.example.com", false, false},
		"empty":                  {"", true, false},
		"relative":               {"/api", true, false},
		"no scheme":              {"api.example.com", true, false},
		"scheme of files":        {"file:///etc", true, false},
		"no host":                {"https://", true, false},
		"password":               {"https://user:pass@api.example.com", true, false},
		"version":                {"https://api.example.com/v1", true, false},
		"version and slash":      {"https://api.example.com/v1/", true, false},
		"whole path":             {"https://api.example.com/base/v1/events/", true, false},
		"path of sites":          {"https://api.example.com/v1/sites", true, false},
		"query":                  {"https://api.example.com?x=1", true, false},
		"fragment":               {"https://api.example.com/#x", true, false},
		// A path cannot be appended to these.
		"bare question mark": {"https://api.example.com?", true, false},
		"bare hash":          {"https://api.example.com/#", true, false},
		"line break":         {"https://api.example.com/\n", true, false},
		"bad escape":         {"https://api.example.com/%zz", true, false},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkBaseURLs(t, row.url, row.allowHTTP, row.ok)
		})
	}
}

// checkBaseURLs checks that a tracker and a client accept the same addresses.
func checkBaseURLs(t *testing.T, url string, allowHTTP, ok bool) {
	t.Helper()
	cfg := rightConfig()
	cfg.BaseURL, cfg.AllowHTTP = url, allowHTTP
	err := cfg.checkAsNewDoes()
	_, clientErr := NewClient(ClientConfig{BaseURL: url, APIKey: secretKey, AllowHTTP: allowHTTP})
	if ok {
		assert.NoError(t, err)
		assert.NoError(t, clientErr)
		return
	}
	assert.Equal(t, []string{"BaseURL"}, fieldsOf(t, err))
	assert.Equal(t, []string{"BaseURL"}, fieldsOf(t, clientErr))
}

func TestConfigOtherFields(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		change func(*Config)
		wrong  []string
	}{
		"key with a blank":              {func(c *Config) { c.APIKey = "sk live" }, []string{"APIKey"}},
		"key with a line break":         {func(c *Config) { c.APIKey = "sk\r\nX: y" }, []string{"APIKey"}},
		"key that is not ASCII":         {func(c *Config) { c.APIKey = "schlüssel" }, []string{"APIKey"}},
		"key with DEL":                  {func(c *Config) { c.APIKey = "sk\x7f" }, []string{"APIKey"}},
		"key in quotation marks":        {func(c *Config) { c.APIKey = `"sk_live"` }, []string{"APIKey"}},
		"site of bad UTF-8":             {func(c *Config) { c.SiteID = "\xff" }, []string{"SiteID"}},
		"site with a space in front":    {func(c *Config) { c.SiteID = " site_1" }, []string{"SiteID"}},
		"site with a line break":        {func(c *Config) { c.SiteID = "site_1\n" }, []string{"SiteID"}},
		"site with a space":             {func(c *Config) { c.SiteID = "site 1" }, []string{"SiteID"}},
		"site that is a URL":            {func(c *Config) { c.SiteID = "https://shop.example.com" }, []string{"SiteID"}},
		"site that may be a domain":     {func(c *Config) { c.SiteID = "shop.example.com" }, nil},
		"site of any other form":        {func(c *Config) { c.SiteID = "01JD:/ä#?" }, nil},
		"default URL, relative":         {func(c *Config) { c.DefaultURL = "/x" }, []string{"DefaultURL"}},
		"default URL":                   {func(c *Config) { c.DefaultURL = "https://example.com/?a=b#c" }, nil},
		"public URL with a query":       {func(c *Config) { c.PublicURL = "https://example.com/?a" }, []string{"PublicURL"}},
		"public URL with a hash":        {func(c *Config) { c.PublicURL = "https://example.com/#a" }, []string{"PublicURL"}},
		"public URL without scheme":     {func(c *Config) { c.PublicURL = "example.com" }, []string{"PublicURL"}},
		"public URL with a quote":       {func(c *Config) { c.PublicURL = `https://example.com/"` }, []string{"PublicURL"}},
		"public URL that is long":       {func(c *Config) { c.PublicURL = "https://example.com/" + strings.Repeat("x", 1100) }, []string{"PublicURL"}},
		"hosts":                         {func(c *Config) { c.Hosts = []string{"example.com", "*.example.com", "127.0.0.1:8080", "[::1]"} }, nil},
		"a host with a scheme":          {func(c *Config) { c.Hosts = []string{"https://example.com"} }, []string{"Hosts"}},
		"a host that is empty":          {func(c *Config) { c.Hosts = []string{"example.com", ""} }, []string{"Hosts"}},
		"a wildcard as the first host":  {func(c *Config) { c.Hosts = []string{"*.example.com"} }, []string{"Hosts"}},
		"a page of the route":           {func(c *Config) { c.Page = PageRoute }, nil},
		"a page that is none":           {func(c *Config) { c.Page = PageReferer + 1 }, []string{"Page"}},
		"a header for the page":         {func(c *Config) { c.PageHeader, c.Hosts = "X-Page", []string{"example.com"} }, nil},
		"a header without hosts":        {func(c *Config) { c.PageHeader = "X-Page" }, []string{"PageHeader"}},
		"a bad header without hosts":    {func(c *Config) { c.PageHeader = "X Page" }, []string{"PageHeader", "PageHeader"}},
		"a header that is none":         {func(c *Config) { c.PageHeader, c.Hosts = "X Page", []string{"example.com"} }, []string{"PageHeader"}},
		"public URL with a path":        {func(c *Config) { c.PublicURL = "https://example.com/shop/" }, nil},
		"queue less than an event":      {func(c *Config) { c.MaxQueueBytes = 100 }, []string{"MaxQueueBytes"}},
		"event as large as the queue":   {func(c *Config) { c.MaxQueueBytes, c.MaxEventBytes = 256, 256 }, nil},
		"event without room for a name": {func(c *Config) { c.MaxEventBytes = 255 }, []string{"MaxEventBytes"}},
		"the largest queue":             {func(c *Config) { c.MaxQueueBytes = maxBytes }, nil},
		"queue larger than memory":      {func(c *Config) { c.MaxQueueBytes = math.MaxInt }, []string{"MaxQueueBytes"}},
		"event larger than memory":      {func(c *Config) { c.MaxEventBytes = math.MaxInt }, []string{"MaxEventBytes", "MaxQueueBytes"}},
		"text as large as an event":     {func(c *Config) { c.Limits.PropText = 32 << 10 }, nil},
		"texts larger than an event": {func(c *Config) {
			c.Limits = Limits{Name: 1 << 16, URL: 1 << 16, PropKey: 1 << 16, PropText: math.MaxInt}
		}, []string{"Limits.Name", "Limits.URL", "Limits.PropKey", "Limits.PropText"}},
		"an event less than its limits":  {func(c *Config) { c.MaxEventBytes = 1000 }, nil},
		"backoff upside down":            {func(c *Config) { c.BackoffMin = time.Hour }, []string{"BackoffMax"}},
		"probe upside down":              {func(c *Config) { c.ProbeMax = time.Second }, []string{"ProbeMax"}},
		"the most requests":              {func(c *Config) { c.MaxInFlight = 4096 }, nil},
		"too many requests":              {func(c *Config) { c.MaxInFlight = 4097 }, []string{"MaxInFlight"}},
		"as many requests as memory":     {func(c *Config) { c.MaxInFlight = math.MaxInt32 }, []string{"MaxInFlight"}},
		"as many requests as numbers":    {func(c *Config) { c.MaxInFlight = math.MaxInt }, []string{"MaxInFlight"}},
		"limits that fit the middleware": {func(c *Config) { c.Limits = Limits{20, 512, 1, 1, 10} }, nil},
		"limits that do not":             {func(c *Config) { c.Limits = Limits{19, 511, 1, 1, 9} }, []string{"Limits.Name", "Limits.URL", "Limits.PropText"}},
		"a default URL of the limit":     {func(c *Config) { c.DefaultURL = "https://example.com/" + strings.Repeat("x", 2028) }, nil},
		"a default URL beyond":           {func(c *Config) { c.DefaultURL = "https://example.com/" + strings.Repeat("x", 2029) }, []string{"DefaultURL"}},
		"transport needs no address":     {func(c *Config) { c.Transport, c.BaseURL, c.APIKey = idle{}, "", "" }, nil},
		"transport still needs the site": {func(c *Config) { c.Transport, c.SiteID = idle{}, "" }, []string{"SiteID"}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := rightConfig()
			row.change(&cfg)
			err := cfg.checkAsNewDoes()
			if row.wrong == nil {
				assert.NoError(t, err)
				return
			}
			assert.Equal(t, row.wrong, fieldsOf(t, err))
		})
	}
}

// idle is a Transport that is never run.
type idle struct{ Transport }

func TestClientConfigReportsEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	_, err := NewClient(ClientConfig{BaseURL: "http://api.example.com", APIKey: secretKey + " ", Timeout: -1, MaxEventBytes: -1})
	assert.Equal(t, []string{"BaseURL", "APIKey", "Timeout", "MaxEventBytes"}, fieldsOf(t, err))
	assert.NotContains(t, err.Error(), secretKey)
}

// printed returns v in every form that a log or a screen may show.
func printed(t *testing.T, value any) map[string]string {
	t.Helper()
	texts := map[string]string{"Sprint": fmt.Sprint(value), "Errorf": fmt.Errorf("%w: %v", ErrClosed, value).Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%T %v", "%10v", "%t"} {
		texts[verb] = fmt.Sprintf(strings.Replace(verb, "%T ", "", 1), value)
	}
	var log bytes.Buffer
	for name, handler := range map[string]slog.Handler{"slog text": slog.NewTextHandler(&log, nil), "slog JSON": slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("message", "value", value, slog.Group("group", "value", value), "list", []any{value})
		texts[name] = log.String()
		log.Reset()
	}
	body, err := json.Marshal(value)
	texts["JSON"] = fmt.Sprint(string(body), err)
	body, err = json.MarshalIndent(map[string]any{"nested": value}, "", " ")
	texts["JSON, nested"] = fmt.Sprint(string(body), err)
	return texts
}

func TestConfigNeverShowsTheKey(t *testing.T) {
	t.Parallel()
	cfg := rightConfig()
	cfg.Logger, cfg.HTTPClient = slog.New(slog.DiscardHandler), &http.Client{}
	client := ClientConfig{BaseURL: "https://api.example.com", APIKey: secretKey, HTTPClient: &http.Client{}}
	type nested struct {
		Config Config
		Client *ClientConfig
	}
	built, err := NewClient(client)
	require.NoError(t, err)
	for name, value := range map[string]any{
		"Config": cfg, "*Config": &cfg, "ClientConfig": client, "*ClientConfig": &client,
		"slice": []Config{cfg}, "map": map[string]ClientConfig{"x": client}, "struct": nested{cfg, &client}, "*Client": built,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for way, text := range printed(t, value) {
				assert.NotContains(t, text, secretKey, way)
				assert.NotContains(t, text, fmt.Sprintf("%x", secretKey), way)
			}
		})
	}
}

func TestConfigShowsWhetherAKeyIsSet(t *testing.T) {
	t.Parallel()
	cfg := rightConfig()
	assert.Equal(t, `footfall.Config{BaseURL: "https://api.example.com", SiteID: "site_1", APIKey: [set]}`, fmt.Sprintf("%+v", cfg))
	cfg.APIKey = ""
	assert.Contains(t, fmt.Sprint(cfg), "APIKey: none")
	assert.Equal(t, `footfall.ClientConfig{BaseURL: "", APIKey: none}`, fmt.Sprint(ClientConfig{}))
}

// Not parallel: it sets environment variables.
func TestConfigFromEnvReadsItsVariables(t *testing.T) {
	for name, value := range map[string]string{
		"FOOTFALL_BASE_URL": "http://collector:8090", "FOOTFALL_API_KEY": secretKey, "FOOTFALL_SITE_ID": "site_env",
		"FOOTFALL_DEFAULT_URL": "https://shop.example.com/jobs", "FOOTFALL_PUBLIC_URL": "https://shop.example.com",
		"FOOTFALL_TRUSTED_PROXIES": "10.0.0.0/8, ::1", "FOOTFALL_ALLOW_HTTP": "true", "FOOTFALL_DISABLED": "0",
	} {
		t.Setenv(name, value)
	}
	cfg := ConfigFromEnv()
	assert.Equal(t, Config{
		BaseURL: "http://collector:8090", APIKey: secretKey, SiteID: "site_env",
		DefaultURL: "https://shop.example.com/jobs", PublicURL: "https://shop.example.com",
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}, AllowHTTP: true,
	}, cfg)
	started, err := New(cfg)
	require.NoError(t, err)
	assert.NoError(t, started.Close(t.Context()))

	t.Setenv("FOOTFALL_DISABLED", "true")
	assert.True(t, ConfigFromEnv().Disabled)
}

// emptyEnvironment removes the variables of the project for the time of a test.
func emptyEnvironment(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "FOOTFALL_") {
			t.Setenv(name, "") // which restores it
			require.NoError(t, os.Unsetenv(name))
		}
	}
}

// Not parallel: it sets environment variables.
func TestNothingInTheEnvironmentDisablesTheTrackerOnlyIfAsked(t *testing.T) {
	emptyEnvironment(t)
	_, err := New(ConfigFromEnv())
	assert.Equal(t, []string{"BaseURL", "APIKey", "SiteID"}, fieldsOf(t, err), "a forgotten environment is an error")

	log := &bytes.Buffer{}
	cfg := ConfigFromEnvOrDisabled()
	cfg.SiteID, cfg.BatchSize, cfg.Logger = "site_1", -1, slog.New(slog.NewTextHandler(log, nil)) // which code may set
	tracker, err := New(cfg)
	require.NoError(t, err)
	assert.NoError(t, tracker.Track(t.Context(), "x"))
	assert.NoError(t, tracker.Close(t.Context()))
	assert.Equal(t, Stats{}, tracker.Stats())
	assert.Equal(t, 1, strings.Count(log.String(), "\n"))
	assert.Contains(t, log.String(), "level=WARN")
	assert.Contains(t, log.String(), "the tracker is disabled, because no environment variable FOOTFALL_* is set")
}

func TestAnyVariableInTheEnvironmentDemandsTheOthers(t *testing.T) {
	for name, want := range map[string][]string{
		"FOOTFALL_BASE_URL":   {"APIKey", "SiteID"},
		"FOOTFALL_SITE_ID":    {"BaseURL", "APIKey"},
		"FOOTFALL_PUBLIC_URL": {"BaseURL", "APIKey", "SiteID"},
		"FOOTFALL_APIKEY":     {"BaseURL", "APIKey", "SiteID"}, // misspelt
	} {
		t.Run(name, func(t *testing.T) {
			emptyEnvironment(t)
			t.Setenv(name, cmp.Or(map[string]string{"FOOTFALL_SITE_ID": "site_1"}[name], "https://shop.example.com"))
			_, err := New(ConfigFromEnvOrDisabled())
			assert.Equal(t, want, fieldsOf(t, err))
			t.Setenv(name, "") // as Compose passes on a variable that is missing
			_, err = New(ConfigFromEnvOrDisabled())
			assert.Equal(t, []string{"BaseURL", "APIKey", "SiteID"}, fieldsOf(t, err))
		})
	}
}

// Not parallel: it sets environment variables.
func TestADisabledConfigOfTheApplicationIsNotLogged(t *testing.T) {
	emptyEnvironment(t)
	t.Setenv("FOOTFALL_DISABLED", "true")
	log := &bytes.Buffer{}
	cfg := ConfigFromEnvOrDisabled()
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	_, err := New(cfg)
	require.NoError(t, err)
	assert.Empty(t, log.String())
}

// Not parallel: it sets environment variables.
func TestNewReportsVariablesThatCannotBeRead(t *testing.T) {
	setRequired := func(t *testing.T) {
		t.Setenv("FOOTFALL_BASE_URL", "https://api.example.com")
		t.Setenv("FOOTFALL_API_KEY", secretKey)
		t.Setenv("FOOTFALL_SITE_ID", "site_env")
	}
	for _, row := range []struct{ name, value, want string }{
		{"FOOTFALL_DEFAULT_URL", "shop.example.com", "not absolute: it needs http:// or https:// and a host"},
		{"FOOTFALL_PUBLIC_URL", "https://shop.example.com/?a=b", "must be a scheme, a host and a path in ASCII, without a query"},
		{"FOOTFALL_TRUSTED_PROXIES", "10.0.0.1,10.0.0.0/40", "entry 2 is neither an address nor a prefix such as 10.0.0.0/8"},
		{"FOOTFALL_ALLOW_HTTP", "yes", `"yes" is neither true nor false`},
		{"FOOTFALL_DISABLED", strings.Repeat("tru", 20), `"trutrutrutrutrutrutr" is neither true nor false`},
	} {
		t.Run(row.name, func(t *testing.T) {
			setRequired(t)
			t.Setenv(row.name, row.value)
			_, err := New(ConfigFromEnv())
			assert.EqualError(t, err, "footfall: "+row.name+": "+row.want)
			t.Setenv("FOOTFALL_DISABLED", "true")
			if _, err = New(ConfigFromEnv()); row.name != "FOOTFALL_DISABLED" {
				assert.NoError(t, err, "a disabled tracker ignores the other fields")
			}
		})
	}
}

// Not parallel: it sets environment variables.
func TestNewReportsMissingVariablesOfConfigFromEnv(t *testing.T) {
	for _, name := range []string{"FOOTFALL_BASE_URL", "FOOTFALL_API_KEY", "FOOTFALL_SITE_ID"} {
		t.Setenv(name, "")
	}
	assert.Equal(t, Config{}, ConfigFromEnv())
	_, err := New(ConfigFromEnv())
	assert.Equal(t, []string{"BaseURL", "APIKey", "SiteID"}, fieldsOf(t, err))
}

// Sums and multiples of durations must not overflow: BackoffMax of 200 years made waits of less
// than zero.
func TestDurationsOfMoreThanAYearAreRefused(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for _, field := range []string{"FlushInterval", "AttemptTimeout", "BackoffMax", "MaxRetryAfter", "ProbeMax", "ShutdownTimeout", "CloseTimeout"} {
		for d, wrong := range map[time.Duration]bool{year: false, year + 1: true, math.MaxInt64: true} {
			cfg := rightConfig()
			reflect.ValueOf(&cfg).Elem().FieldByName(field).SetInt(int64(d))
			if err := cfg.checkAsNewDoes(); wrong {
				assert.Equal(t, []string{field}, fieldsOf(t, err), d)
			} else {
				assert.NoError(t, err, field)
			}
		}
	}
	_, err := NewClient(ClientConfig{BaseURL: "https://api.example.com", APIKey: secretKey, Timeout: math.MaxInt64})
	assert.Equal(t, []string{"Timeout"}, fieldsOf(t, err))
}

// settling is a Transport that settles every record as Delivered.
type settling struct{}

func (settling) Deliver(ctx context.Context, src *Source) {
	one := make([]Record, 1)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for src.Take(one) == 1 {
			src.Settle(one, OutcomeDelivered, nil)
		}
	}
}

func TestAReasonSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Config){
		"BatchSize: -3 is negative; 0 is the default":                                     func(c *Config) { c.BatchSize = -3 },
		"FlushInterval: -1s is negative; 0 is the default":                                func(c *Config) { c.FlushInterval = -time.Second },
		"MaxEventBytes: 10 is less than 256":                                              func(c *Config) { c.MaxEventBytes = 10 },
		"MaxQueueBytes: 9223372036854775807 is more than 1099511627776":                   func(c *Config) { c.MaxQueueBytes = math.MaxInt },
		"Limits.PropText: 65536 is more than MaxEventBytes, which is 32768 (the default)": func(c *Config) { c.Limits.PropText = 1 << 16 },
		"Limits.Name: 19 is less than 20":                                                 func(c *Config) { c.Limits.Name = 19 },
		"BaseURL: scheme is neither http nor https: begin with http:// or https://":       func(c *Config) { c.BaseURL = "localhost:8090" },
		"BaseURL: not a URL: begin with http:// or https://":                              func(c *Config) { c.BaseURL = "127.0.0.1:8090" },
		"BaseURL: not a URL": func(c *Config) { c.BaseURL = "https://api.example.com/%zz" },
		"BaseURL: contains a user name or a password: remove them":    func(c *Config) { c.BaseURL = "https://u:p@api.example.com" },
		"BaseURL: contains a control character, such as a line break": func(c *Config) { c.BaseURL = "https://api.example.com\n" },
		"DefaultURL: contains a user name or a password: remove them": func(c *Config) { c.DefaultURL = "https://u:p@example.com" },
	} {
		cfg := rightConfig()
		change(&cfg)
		assert.EqualError(t, cfg.checkAsNewDoes(), "footfall: Config."+want)
	}
}

func TestAFieldThatIsLessThanAnotherNamesBothValues(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Config){
		"BackoffMax: 15s (the default) is less than BackoffMin, which is 1m0s":  func(c *Config) { c.BackoffMin = time.Minute },
		"BackoffMax: 1ms is less than BackoffMin, which is 500ms (the default)": func(c *Config) { c.BackoffMax = time.Millisecond },
		"BackoffMax: 1s is less than BackoffMin, which is 2s":                   func(c *Config) { c.BackoffMin, c.BackoffMax = 2*time.Second, time.Second },
		"ProbeMax: 5m0s (the default) is less than ProbeMin, which is 1h0m0s":   func(c *Config) { c.ProbeMin = time.Hour },
		"MaxQueueBytes: 300 is less than MaxEventBytes, which is 32768 (the default): the largest event could never be queued": func(c *Config) {
			c.MaxQueueBytes = 300
		},
	} {
		cfg := rightConfig()
		change(&cfg)
		assert.EqualError(t, cfg.checkAsNewDoes(), "footfall: Config."+want)
	}
}
