package doctor

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDoctorWarnsAboutAKeyThatIsSentInClear(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]Level{"127.0.0.1": Skipped, "::1": Skipped, "192.0.2.10": Warn, "10.0.0.7": Warn, "2001:db8::1": Warn} {
		r := &Report{OK: true}
		r.unencrypted(&net.TCPAddr{IP: net.ParseIP(address), Port: 80})
		assert.Equal(t, want, r.Findings[0].Level, address)
		assert.Equal(t, want == Warn, r.Findings[0].Remedy != "", address)
		assert.True(t, r.OK, "a private network may be safe")
	}
}
