package adaptertest

import (
	"bytes"
	"crypto/tls"
	"errors"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// UploadLeavesNoFile posts a form with a file of size bytes to /upload, whose handler
// reads it into temporary files. The test must not be parallel, because the process has one
// folder of temporary files.
func UploadLeavesNoFile(t *testing.T, size int, serve func(l net.Listener, secure *tls.Config) (stop func() error)) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	form, kind := uploading(t, size)
	base, stop := Open(t, func(l net.Listener) func() error { return serve(l, nil) })
	answer, err := http.Post(base+"/upload", kind, form)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, http.StatusOK, answer.StatusCode)
	http.DefaultClient.CloseIdleConnections()
	stop()
	assert.Empty(t, TemporaryFiles(t))
}

func uploading(t *testing.T, size int) (form *bytes.Buffer, kind string) {
	t.Helper()
	form = new(bytes.Buffer)
	w := multipart.NewWriter(form)
	part, err := w.CreateFormFile("file", "large.bin")
	require.NoError(t, err)
	_, err = part.Write(make([]byte, size))
	require.NoError(t, errors.Join(err, w.Close()))
	return form, w.FormDataContentType()
}

// TemporaryFiles returns the temporary files that the process has now.
func TemporaryFiles(t *testing.T) []os.DirEntry {
	t.Helper()
	files, err := os.ReadDir(os.TempDir())
	assert.NoError(t, err)
	return files
}
