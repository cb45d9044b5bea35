package lean

import (
	"encoding/binary"
	"net"
)

// recordHeader is the size of the header of a TLS record, which ends with the record's length.
const recordHeader = 5

// records is the connection below a layer of TLS. crypto/tls reads ahead and buffers incomplete
// records. records knows whether there is one.
type records struct {
	net.Conn
	header [recordHeader]byte
	have   int // bytes of header
	left   int // bytes of the record that have not arrived
}

// Read implements net.Conn.
func (r *records) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.follow(b[:n])
	return n, err
}

func (r *records) follow(b []byte) {
	for len(b) > 0 {
		if r.left > 0 {
			n := min(r.left, len(b))
			r.left, b = r.left-n, b[n:]
			continue
		}
		n := copy(r.header[r.have:], b)
		r.have, b = r.have+n, b[n:]
		if r.have == recordHeader {
			r.have, r.left = 0, int(binary.BigEndian.Uint16(r.header[3:]))
		}
	}
}

// isWhole reports whether the data read so far ends with a complete record.
func (r *records) isWhole() bool { return r.have == 0 && r.left == 0 }
