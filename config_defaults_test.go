package footfall

import (
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// New sets nothing aside for bounds of the queue.
func TestTheLargestNumbersWork(t *testing.T) {
	t.Parallel()
	cfg := rightConfig()
	cfg.MaxQueueEvents, cfg.MaxQueueBytes, cfg.MaxEventBytes, cfg.BatchSize = math.MaxInt, maxBytes, maxBytes, math.MaxInt
	cfg.Limits = Limits{Name: maxBytes, URL: maxBytes, Props: math.MaxInt, PropKey: maxBytes, PropText: maxBytes}
	cfg.DefaultURL, cfg.Transport = "https://example.com/", settling{}
	tracker, err := New(cfg)
	require.NoError(t, err)
	for range 1000 {
		require.NoError(t, tracker.Track(t.Context(), "tested", P("k", "v"), P("k", "w")))
	}
	require.NoError(t, tracker.Flush(t.Context()))
	require.NoError(t, tracker.Close(t.Context()))
	assert.Equal(t, Stats{Tracked: 1000, Delivered: 1000}, tracker.Stats())
}

func TestConfigDefaultsDoNotReplaceSetFields(t *testing.T) {
	t.Parallel()
	set := Config{
		QueryKeys: []string{}, MaxQueueEvents: 1, MaxQueueBytes: 2, MaxEventBytes: 3, BatchSize: 4, FlushInterval: 5, MaxInFlight: 6,
		AttemptTimeout: 7, BackoffMin: 8, BackoffMax: 9, MaxRetryAfter: 10, ProbeMin: 11, ProbeMax: 12,
		ShutdownTimeout: 13, CloseTimeout: 14, Limits: Limits{15, 16, 17, 18, 19}, Logger: slog.New(slog.DiscardHandler),
	}
	assert.True(t, reflect.DeepEqual(set, set.withDefaults()))
}

// documented is a struct's field with the default that its comment names.
type documented struct {
	name string
	doc  string
	says string // after "Defaults to", without the last full stop; "" if it says nothing
}

// documentedFields reads the comments of a struct's fields.
func documentedFields(t *testing.T, file, typeName string) []documented {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	require.NoError(t, err)
	var fields []documented
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != typeName {
			return true
		}
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			doc := strings.Join(strings.Fields(field.Doc.Text()+field.Comment.Text()), " ")
			for _, name := range field.Names {
				if name.IsExported() {
					fields = append(fields, documented{name.Name, doc, defaultIn(doc)})
				}
			}
		}
		return false
	})
	require.NotEmpty(t, fields)
	return fields
}

func defaultIn(doc string) string {
	_, says, _ := strings.Cut(doc, "Defaults to ")
	return strings.TrimSuffix(says, ".")
}

// meaning converts a documented default to the value of a field. It returns nil for a default
// in words, such as "refusing the new event", which the zero value means.
func meaning(says string, of reflect.Type) any {
	size := int64(1)
	number := strings.ReplaceAll(says, ",", "")
	for unit, factor := range map[string]int64{" KiB": 1 << 10, " MiB": 1 << 20} {
		if n, ok := strings.CutSuffix(number, unit); ok {
			number, size = n, factor
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err == nil && of.Kind() == reflect.Int:
		return int(n * size)
	case says == "slog.Default()":
		return slog.Default()
	case of == reflect.TypeFor[[]string]() && says != "none":
		return strings.Split(says, ", ")
	}
	if d, err := time.ParseDuration(says); err == nil {
		return d
	}
	return nil
}

func TestConfigDefaultsAreAsDocumented(t *testing.T) {
	t.Parallel()
	defaults := reflect.ValueOf(Config{}.withDefaults())
	numbers := 0
	for _, field := range documentedFields(t, "config.go", "Config") {
		value := defaults.FieldByName(field.name)
		if field.name == "Limits" { // its type names the defaults
			continue
		}
		want := meaning(field.says, value.Type())
		if want == nil {
			assert.True(t, value.IsZero(), "%s: withDefaults sets %v, the comment says %q", field.name, value, field.says)
			required := strings.Contains(field.doc, "Required") || value.Kind() == reflect.Bool
			assert.True(t, required || field.says != "", "%s: the comment says neither Required nor Defaults to", field.name)
			continue
		}
		numbers++
		assert.Equal(t, want, value.Interface(), "%s: the comment says %q", field.name, field.says)
	}
	assert.GreaterOrEqual(t, numbers, 16, "the test no longer finds the documented defaults")
}

func TestClientConfigDefaultsAreAsDocumented(t *testing.T) {
	t.Parallel()
	client, err := NewClient(ClientConfig{BaseURL: "https://api.example.com", APIKey: secretKey})
	require.NoError(t, err)
	actual := map[string]any{"Timeout": client.timeout, "MaxEventBytes": client.encoder.maxBytes}
	said := make(map[string]any)
	for _, field := range documentedFields(t, "client.go", "ClientConfig") {
		if field.says != "" && field.name != "Limits" {
			said[field.name] = meaning(field.says, reflect.TypeOf(actual[field.name]))
		}
	}
	assert.Equal(t, said, actual)
}

func TestFieldsOfPagesHaveDefaults(t *testing.T) {
	t.Parallel()
	c := pagerOf(Config{})
	assert.True(t, slices.Equal([]string{"utm_*", "ref", "source"}, c.keys))
	assert.Empty(t, c.origin)
	assert.Empty(t, c.proxies)
}
