package lean

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxHeader is the largest header, as in the default transport.
const maxHeader = 64 << 10

var (
	errLongHeader = errors.New("the header of the answer is longer than 64 KiB")
	errBadField   = errors.New("the answer has a malformed header field")
)

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 4<<10) }

// lines reads the lines of a header like net/textproto: a line may end with a bare LF, and a
// line that begins with a space or tab continues the line before.
type lines struct {
	in     *bufio.Reader
	left   int // bytes that the header may still have
	long   []byte
	folded []byte
}

// next returns the next line without its end. The line is valid until the next read.
func (l *lines) next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	l.left -= len(line)
	if err == bufio.ErrBufferFull {
		l.long = append(l.long[:0], line...)
		for err == bufio.ErrBufferFull && l.left >= 0 {
			line, err = l.in.ReadSlice('\n')
			l.left -= len(line)
			l.long = append(l.long, line...)
		}
		line = l.long
	}
	switch {
	case l.left < 0:
		return nil, errLongHeader
	case err == io.EOF:
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

// field returns the next header field with its continuation lines, or nothing at the end of the
// header. The field is valid until the next read.
func (l *lines) field() ([]byte, error) {
	line, err := l.next()
	if err != nil || len(line) == 0 {
		return nil, err
	}
	if isBlank(line[0]) || bytes.IndexByte(line, ':') < 0 {
		return nil, errBadField
	}
	if l.in.Buffered() > 0 { // Peek then does not overwrite line
		if next, _ := l.in.Peek(1); !isBlank(next[0]) {
			return trim(line), nil
		}
	}
	l.folded = append(l.folded[:0], trim(line)...)
	for {
		next, err := l.in.Peek(1)
		if err != nil {
			return nil, cut(err)
		}
		if !isBlank(next[0]) {
			return l.folded, nil
		}
		if line, err = l.next(); err != nil {
			return nil, err
		}
		l.folded = append(append(l.folded, ' '), trim(line)...)
	}
}

// skip reads the trailer of a chunked body.
func (l *lines) skip() error {
	for {
		if field, err := l.field(); err != nil || len(field) == 0 {
			return err
		}
	}
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

func trim(b []byte) []byte { return bytes.Trim(b, " \t") }

// cut returns the error of an incomplete body: io.ErrUnexpectedEOF in place of io.EOF.
func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
