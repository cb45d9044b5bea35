package footfallgqlgen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// statuses are the statuses of codes that GraphQL servers commonly use.
var statuses = map[string]int{
	"BAD_REQUEST":                  400,
	"BAD_USER_INPUT":               400,
	"COMPLEXITY_LIMIT_EXCEEDED":    400,
	"GRAPHQL_PARSE_FAILED":         400,
	"GRAPHQL_VALIDATION_FAILED":    400,
	"OPERATION_RESOLUTION_FAILURE": 400,
	"UNAUTHENTICATED":              401,
	"UNAUTHORIZED":                 401,
	"FORBIDDEN":                    403,
	"PERMISSION_DENIED":            403,
	"NOT_FOUND":                    404,
	"ALREADY_EXISTS":               409,
	"CONFLICT":                     409,
	"RATE_LIMITED":                 429,
	"TOO_MANY_REQUESTS":            429,
}

// statusOf returns the highest status of errors, because concurrent resolvers add errors in any order. It is
// 200 without errors.
func statusOf(errs gqlerror.List) int {
	status := http.StatusOK
	for _, err := range errs {
		status = max(status, statusOfOne(err))
	}
	return status
}

func statusOfOne(err *gqlerror.Error) int {
	if err == nil {
		return http.StatusInternalServerError
	}
	switch code := err.Extensions["code"].(type) {
	case nil:
		return statusOfCause(err.Err)
	case string:
		return statusOfText(code)
	case int, int32, int64, float64, json.Number:
		return statusOfNumber(fmt.Sprint(code))
	default:
		if v := reflect.ValueOf(code); v.Kind() == reflect.String { // a type of the application
			return statusOfText(v.String())
		}
		return http.StatusInternalServerError
	}
}

func statusOfText(code string) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return statusOfNumber(code)
}

// statusOfNumber returns a status that a code consists of.
func statusOfNumber(code string) int {
	if n, err := strconv.Atoi(code); err == nil && 400 <= n && n <= 599 {
		return n
	}
	return http.StatusInternalServerError
}

// statusOfCause returns the status of an error without a code.
func statusOfCause(err error) int {
	switch {
	case errors.Is(err, context.Canceled):
		return 499
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}
