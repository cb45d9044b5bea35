package footfallgqlgen_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
)

// batch is a transport for arrays of operations, which gqlgen does not have and applications add.
type batch struct{}

func (batch) Supports(r *http.Request) bool {
	return r.Header.Get("Content-Type") == "application/batch+json"
}

func (batch) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	text, _ := io.ReadAll(r.Body)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var all []*graphql.RawParams
	_ = decoder.Decode(&all)
	var answers []*graphql.Response
	for _, params := range all {
		op, errs := exec.CreateOperationContext(r.Context(), params)
		if errs != nil {
			answers = append(answers, exec.DispatchError(graphql.WithOperationContext(r.Context(), op), errs))
			continue
		}
		responses, ctx := exec.DispatchOperation(r.Context(), op)
		answers = append(answers, responses(ctx))
	}
	_ = json.NewEncoder(w).Encode(answers)
}
