package wire

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAShortKeyDoesNotMangleTheErrors(t *testing.T) {
	t.Parallel()
	const refusal = "dial tcp: lookup shop.example.com: the key e is unknown, a network error"
	for key, want := range map[string]string{
		"e":        strings.Replace(refusal, "key e is", "key [key] is", 1),
		"key":      strings.Replace(refusal, "the key e", "the [key] e", 1),
		"exam":     refusal,
		"z":        refusal,
		"shop":     strings.Replace(refusal, "shop", "[key]", 1),
		"error":    strings.Replace(refusal, "error", "[key]", 1),
		"an":       refusal,
		"unknown,": strings.Replace(refusal, "unknown,", "[key]", 1),
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			c := NewCleaner("https://api.example.com", key)
			assert.Equal(t, want, c.Scrub(refusal))
			err := c.Clean(fmt.Errorf("tries end: %w", context.DeadlineExceeded))
			assert.ErrorIs(t, err, context.DeadlineExceeded, "the error stays what it is")
		})
	}
}

// A server may repeat a key in quotes, in a header, in a URL and in JSON.
func TestAKeyIsReplacedWhereverAServerMayRepeatIt(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"q", "s3cret", "s3cret_0", "s3/cr<t", `s"\c`, "sk_secret_0123456789"} {
		for _, form := range []string{
			"%s", "%s.", "Bearer %s", `"%s"`, "key=%s&x=1", "<%s>", "%s,%s", "(%s)", "a: %s\nb", `{\"key\":\"%s\"}`, `line\n%s\n`,
			`\u0022%s\u0022`, "%%22%s%%22", "-%s-", "_%s_",
		} {
			text := "x " + strings.ReplaceAll(strings.ReplaceAll(form, "%s", key), "%%", "%")
			clean := scrub(text, key)
			assert.NotContains(t, strings.ReplaceAll(clean, "[key]", ""), key, "%q", text)
			assert.Contains(t, clean, "[key]", "%q", text)
		}
	}
	long := strings.Repeat("s3cret_0", 3)
	assert.Equal(t, "[key][key][key]", scrub(long, "s3cret_0"), "a long key is replaced everywhere")
}

func TestAnErrorOfTheNetworkSaysWhatToCheck(t *testing.T) {
	t.Parallel()
	const plain = "; the server does not speak TLS on this port: check scheme and port of BaseURL"
	for name, row := range map[string]struct {
		err  error
		want string
	}{
		"no TLS":                      {tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "tls: first record does not look like a TLS handshake" + plain},
		"no TLS, from an http.Client": {&url.Error{Op: "Post", URL: "https://a", Err: http.ErrSchemeMismatch}, http.ErrSchemeMismatch.Error() + plain},
		"no answer":                   {&url.Error{Op: "Post", URL: "http://a", Err: io.EOF}, "EOF; the connection ended without an answer: if every one does, check scheme and port of BaseURL"},
		"a part of an answer":         {io.ErrUnexpectedEOF, "unexpected EOF"},
		"no connection":               {syscall.ECONNREFUSED, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := NewCleaner("http://api.example.com:81", "sk_key").Clean(row.err)
			assert.EqualError(t, err, "footfall: api.example.com:81: "+row.want)
		})
	}
}
