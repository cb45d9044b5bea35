package colstore

import (
	"encoding/binary"
	"hash/crc32"
)

// castagnoli is the polynomial of CRC-32C, which processors compute.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal returns a part as it is stored: its bytes and their checksum.
func Seal(part int, data []byte) []byte {
	sealed := make([]byte, 0, len(data)+crc32.Size)
	sealed = append(sealed, data...)
	return binary.LittleEndian.AppendUint32(sealed, checksum(part, data))
}

// Unseal returns the bytes of a stored part, or ErrDamaged if they are not those that were stored.
func Unseal(part int, sealed []byte) ([]byte, error) {
	end := len(sealed) - crc32.Size
	if end < 0 || binary.LittleEndian.Uint32(sealed[end:]) != checksum(part, sealed[:end]) {
		return nil, ErrDamaged
	}
	return sealed[:end:end], nil
}

// checksum includes the number, so that a part is not taken for another one.
func checksum(part int, data []byte) uint32 {
	return crc32.Update(crc32.Checksum(binary.AppendUvarint(nil, uint64(part)), castagnoli), castagnoli, data)
}
