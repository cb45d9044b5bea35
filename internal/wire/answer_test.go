package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReasonOfAnAnswer(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status        int
		body          string
		code, message string
	}{
		"the API's error body":     {400, `{"error":"bad","message":"of sk_key","status":400}`, "bad", "of [key]"},
		"another status":           {400, `{"error":"bad","message":"x","status":500}`, "", `something other than the API answers; check BaseURL; the answer begins with {"error":"bad","message":"x","status":500}`},
		"202 that does not accept": {202, `{"accepted":false}`, "", "accepted is false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := Answer{Status: row.status, Body: []byte(row.body), Key: func() string { return "sk_key" }}
			code, message := a.Reason()
			assert.Equal(t, row.code, code)
			assert.Equal(t, row.message, message)
		})
	}
}
