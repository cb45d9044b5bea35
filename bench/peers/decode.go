package peers

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/klauspost/compress/zstd"
)

// numbered holds the prop n of an event.
type numbered struct{ N int }

// decodeJSON unmarshals a body that may be compressed.
func decodeJSON(r *http.Request, body []byte, into any) error {
	plain, err := decompress(r, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, into)
}

func decompress(r *http.Request, body []byte) ([]byte, error) {
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return body, nil
	case "gzip":
		reader, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(reader)
	case "zstd":
		reader, err := zstd.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		defer reader.Close()
		return io.ReadAll(reader)
	default:
		return nil, fmt.Errorf("peers: Content-Encoding %q is not known", encoding)
	}
}

func answerJSON(body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}
