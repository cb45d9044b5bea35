package outbox

import (
	"cmp"
	"embed"
	"strings"

	"github.com/footfall-dev/footfall/outbox/internal/rows"
)

//go:embed schema/*.sql
var schema embed.FS

// Schema returns the statements that create the tables of d, to be applied by the application's own tool for
// migrations. Empty names are the defaults of [Config]. It is the file of the folder schema, with other names.
// It returns an error for a wrong name or a wrong dialect.
func Schema(d Dialect, table, rejectedTable string) (string, error) {
	cfg := Config{Dialect: d, Table: table, RejectedTable: rejectedTable}.withDefaults(nil)
	if err := cfg.checkNames(); err != nil {
		return "", err
	}
	text, err := schema.ReadFile("schema/0001_" + d.String() + ".sql")
	if err != nil {
		return "", err // it is embedded
	}
	if cmp.Or(table, rejectedTable) == "" {
		return string(text), nil
	}
	dialect := rows.For(d.String())
	return strings.NewReplacer(
		defaultTable+rejectedSuffix, dialect.Quoted(cfg.RejectedTable),
		defaultTable+"_due", cfg.names().Index(),
		defaultTable, dialect.Quoted(cfg.Table),
	).Replace(string(text)), nil
}
