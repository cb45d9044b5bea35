package pii

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/chars"
)

// changedPaths returns how many paths a file has, and those that the guard changes.
func changedPaths(t *testing.T, file string) (total int, changed []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for path := range strings.Lines(string(text)) {
		total++
		path = strings.TrimSuffix(path, "\n")
		if guarded := guardPath(path, ""); guarded != path {
			changed = append(changed, fmt.Sprintf("%s becomes %s", path, guarded))
		}
	}
	return total, changed
}

// guardPath is the path of a page as the guard lets it be sent.
func guardPath(path, route string, exempt ...string) string {
	out, _ := New(false, exempt).AppendPath(nil, path, Route{Pattern: route})
	return string(out)
}

// docs/paths.md has these figures.
func TestGuardLeavesPathsOfPublicPagesAlone(t *testing.T) {
	t.Parallel()
	figures := map[string]struct{ total, changed int }{
		"testdata/paths.txt": {798, 2},
		"testdata/ids.txt":   {59, 51}, // with random identifiers
	}
	for file, want := range figures {
		total, changed := changedPaths(t, file)
		for _, line := range changed {
			t.Log(line)
		}
		assert.Equal(t, want.total, total, file)
		assert.Len(t, changed, want.changed, file)
	}
}

const (
	lowerLetters = "abcdefghijklmnopqrstuvwxyz"
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" + lowerLetters
	crockford    = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

func letters(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func uuidOf(r *rand.Rand, version byte) string {
	var id uuid.UUID
	copy(id[:], randomBytes(r, 16))
	if version == 7 {
		copy(id[:6], []byte{0x01, 0x9a, 0xa6, 0x5c}) // a time of the year 2025
	}
	id[6], id[8] = id[6]&0x0f|version<<4, id[8]&0x3f|0x80
	return id.String()
}

func jwtOf(r *rand.Rand) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg":"HS256","typ":"JWT"}`) + "." + part(fmt.Sprintf(`{"sub":"%d"}`, r.IntN(1e6))) + "." +
		base64.RawURLEncoding.EncodeToString(randomBytes(r, 32))
}

type tokenKind struct {
	make  func(*rand.Rand) string
	least float64 // percent that the guard finds, which docs/paths.md has rounded
	most  float64
}

func tokenKinds() map[string]tokenKind {
	url := func(n int) func(*rand.Rand) string {
		return func(r *rand.Rand) string {
			return base64.RawURLEncoding.EncodeToString(randomBytes(r, n))[:(n*8+5)/6]
		}
	}
	of := func(alphabet string, n int) func(*rand.Rand) string {
		return func(r *rand.Rand) string { return letters(r, alphabet, n) }
	}
	return map[string]tokenKind{
		"hex 20":              {of("0123456789abcdef", 20), 100, 100},
		"hex 32":              {of("0123456789abcdef", 32), 100, 100},
		"hex 40":              {func(r *rand.Rand) string { return hex.EncodeToString(randomBytes(r, 20)) }, 100, 100},
		"base62 20":           {of(base62, 20), 99, 100},
		"base62 22":           {of(base62, 22), 98, 100},
		"base62 32":           {of(base62, 32), 99, 100},
		"base64url 22":        {url(16), 95, 100},
		"base64url 43":        {url(32), 99, 100},
		"base32 26":           {func(r *rand.Rand) string { return base32.StdEncoding.EncodeToString(randomBytes(r, 16))[:26] }, 93, 100},
		"Crockford 26":        {of(crockford, 26), 99, 100},
		"UUID 4":              {func(r *rand.Rand) string { return uuidOf(r, 4) }, 100, 100},
		"UUID 7":              {func(r *rand.Rand) string { return uuidOf(r, 7) }, 100, 100},
		"nanoid 21":           {of(base62+"-_", 21), 95, 100},
		"ObjectID 24":         {func(r *rand.Rand) string { return "69" + hex.EncodeToString(randomBytes(r, 11)) }, 100, 100},
		"JWT":                 {jwtOf, 100, 100},
		"lower case 20":       {of(lowerLetters, 20), 0, 0},
		"lower case 32":       {of(lowerLetters, 32), 0, 0},
		"product key 5 by 5":  {productKey, 40, 43},
		"digits 20":           {of("0123456789", 20), 100, 100},
		"base62 32 in a slug": {func(r *rand.Rand) string { return "join-the-team-of-example-" + letters(r, base62, 32) }, 99, 100},
	}
}

// productKey returns a licence code such as 7XKQ2-M4RTB-….
func productKey(r *rand.Rand) string {
	groups := make([]string, 5)
	for i := range groups {
		groups[i] = letters(r, base62[:36], 5)
	}
	return strings.Join(groups, "-")
}

func TestGuardFindsRandomTokens(t *testing.T) {
	t.Parallel()
	const tokens = 10_000
	kinds := tokenKinds()
	for i, name := range slices.Sorted(maps.Keys(kinds)) {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		kind, found := kinds[name], 0
		for range tokens {
			if guardPath("/a/"+kind.make(r), "") == "/a/%5Bredacted%5D" {
				found++
			}
		}
		percent := float64(found) * 100 / tokens
		t.Logf("| %s | %.2f %% |", name, percent)
		assert.GreaterOrEqual(t, percent, kind.least, name)
		assert.LessOrEqual(t, percent, kind.most, name)
	}
}

// redactedPaths returns paths without a known route. The guard redacts a segment of each.
func redactedPaths() []string {
	return []string{
		"/u/a@b.example",
		"/u/a%40b.example",
		"/u/joe+tag@mail.example.co.uk",
		"/u/joe@163.com",
		"/u/joe@example.com.png",
		"/u/joe@example.com-2026",
		"/u/j%C3%BCrgen@ex%C3%A4mple.de",
		"/u/joe@%E4%BE%8B.%E4%B8%AD%E5%9B%BD",
		"/u/a@b.c",
		"/u/a@1.c",
		"/u/joe@1-und-1.de",
		"/u/joe@2x.de",
		"/u/joe@example.zip",
		"/u/joe@example.PNG",
		"/u/joe@4.17.21@example.de",
		"/u/lodash@4.17.21@b.c",
		"/u/jane%252Edoe%2540example.com",
		"/u/jane%25252Edoe%252540b.c",
		"/u/%25252525", // escaped too often to be read
		"/a;jsessionid=4D7A1F0B2C9E8D6F3A5B4C7E",
		"/t/eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.",
		"/o/12345678901234567890",
		"/v/0195e3c1-9f4e-7a3b-8c2d-1e2f3a4b5c6d/edit",
		"/v/{0195e3c1-9f4e-7a3b-8c2d-1e2f3a4b5c6d}",
	}
}

// keptPaths returns paths without a known route that the guard does not change.
func keptPaths() []string {
	return []string{
		"/npm/lodash@4.17.21",
		"/npm/lodash@4.17.21/lodash.min.js",
		"/npm/@types%2Fnode@22.1.0",
		"/npm/react@19.0.0-rc.1",
		"/img/logo@2x.png",
		"/img/logo@1.5x.webp",
		"/@handle/posts",
		"/sale/100%25-cotton", // escaped once
		"/sale/100%2525",
		"/img/icon@2x.PNG",
		"/img/AppIcon29x29@3x~ipad.png",
		"/img/hero@2x.webm",
		"/npm/lodash@4.17.21.tgz",
		"/npm/lodash@4.17.21.tar.gz",
		"/npm/lodash@4.x",
		"/npm/vue@3.5.13.js.map",
		"/npm/inter@5.2.8.woff2",
		"/mod/mux@v1.8.1.zip",
		"/mod/net@v0.0.0-20260706201446-f0a92",
		"/mod/old@v2.0.0+incompatible",
		"/blog/how-we-moved-a1b2c3d4",
		"/blog/title-of-an-article-c9915cd255c0",
		"/p/ryzen5-5600x-rtx3060-16gb-512gb-ssd-win11",
		"/p/lenovo-thinkpad-x1-carbon-gen9-20xw005nge-i7-1165g7-16gb-1tb",
		"/f/IMG_20180130_185531.jpg",
		"/f/Screen-Shot-2019-12-14-at-1.28.18-pm.png",
		"/docs/Deployment/ContainerOrchestrationWithKubernetesAndHelm",
		"/user/reset/secretkey123", // found by the wildcard's name only
		"/%E3%83%90%E3%82%B0%E7%AE%A1%E7%90%86%E3%82%B7%E3%82%B9%E3%83%86",
		"/invite/pelcjqmzvnthwxkdbsyo", // letters of one case
		"/o/4111111111111111",
		"/o/2026-11-22/2026-11-29/12345-67890",
		"/",
		"//",
		"/a//b/",
	}
}

func TestGuardOfSegments(t *testing.T) {
	t.Parallel()
	for _, path := range redactedPaths() {
		assert.Contains(t, guardPath(path, ""), "%5Bredacted%5D", path)
	}
	for _, path := range keptPaths() {
		assert.Equal(t, path, guardPath(path, ""))
	}
}

func TestWildcardsThatTheGuardReplaces(t *testing.T) {
	t.Parallel()
	const token = "V1StGXR8Z5jdHi6BmyT0"
	for name, tc := range map[string]struct{ route, path, want string }{
		"net/http":                   {"GET /user/reset/{key}", "/user/reset/secretkey123", "/user/reset/%7Bkey%7D"},
		"net/http, rest":             {"GET /files/{path...}", "/files/a/" + token + "/b", "/files/a/%7Bpath%7D/b"},
		"net/http, end":              {"GET /t/{token}/{$}", "/t/abc/", "/t/%7Btoken%7D/"},
		"net/http, host":             {"shop.example.com/t/{token}", "/t/abc", "/t/%7Btoken%7D"},
		"net/http, subtree":          {"GET /t/", "/t/" + token, "/t/%5Bredacted%5D"},
		"chi, regexp":                {"GET /t/{token:[a-z/]{3,}}/x", "/t/abc/x", "/t/%7Btoken%7D/x"},
		"chi, rest":                  {"GET /a/*", "/a/" + token, "/a/%5Bredacted%5D"},
		"gin":                        {"GET /t/:token", "/t/abc", "/t/%7Btoken%7D"},
		"gin, rest":                  {"GET /files/*path", "/files/a/" + token, "/files/a/%7Bpath%7D"},
		"fiber, optional":            {"GET /t/:token?", "/t/abc", "/t/%7Btoken%7D"},
		"fiber, constraint":          {"GET /t/:token<minLen(3)>", "/t/abc", "/t/%7Btoken%7D"},
		"gorilla, in a segment":      {"GET /t/t-{token:[a-z]+}", "/t/t-abc", "/t/%7Btoken%7D"},
		"name in capitals":           {"GET /t/{InviteCode}", "/t/abc", "/t/%7BInviteCode%7D"},
		"random value":               {"GET /p/{id}", "/p/" + token, "/p/%7Bid%7D"},
		"value that is none":         {"GET /p/{id}", "/p/drowsy-kettle", "/p/drowsy-kettle"},
		"name that is not ASCII":     {"GET /p/{schl\u00fcssel}", "/p/" + token, "/p/%7Bschl%C3%BCssel%7D"},
		"mounted below what differs": {"GET /v2/t/{token}", "/api/v2/t/abc", "/api/v2/t/%7Btoken%7D"},
		"the same with a token":      {"GET /v2/t/{token}", "/api/v2/t/" + token, "/api/v2/t/%7Btoken%7D"},
		"path that is longer":        {"GET /t/{token}", "/t/abc/" + token, "/t/%7Btoken%7D/%5Bredacted%5D"},
		"path that is shorter":       {"GET /t/{token}/x", "/t", "/t"},
		"chi, two in a segment":      {"GET /r/{user}-{token}", "/r/ada-abc", "/r/%7Btoken%7D"},
		"fiber, two in a segment":    {"GET /r/{user}-:token", "/r/ada-abc", "/r/%7Btoken%7D"},
		"fiber, an extension":        {"GET /dl/{token}.zip", "/dl/abc.zip", "/dl/%7Btoken%7D"},
		"fiber, plus":                {"GET /a/{+...}", "/a/b/" + token, "/a/b/%5Bredacted%5D"},
		"echo, a dash in the name":   {"GET /r/:user-:token", "/r/ada-abc", "/r/%7Buser-:token%7D"},
		"gin, rest that is a secret": {"GET /t/*token", "/t/a/b", "/t/%7Btoken%7D/%7Btoken%7D"},
		"gorilla, rest by regexp":    {"GET /t/{token:.*}", "/t/a/b", "/t/%7Btoken%7D/%7Btoken%7D"},
		"star in a later segment":    {"GET /a/*", "/a/b/" + token, "/a/b/%5Bredacted%5D"},
		"star before a secret":       {"GET /a/*/:token", "/a/b/c/abc", "/a/b/c/%7Btoken%7D"},
		"another spelling":           {"GET /zur\u00fccksetzen/{key}", "/zur%C3%BCcksetzen/k3y", "/zur%C3%BCcksetzen/%7Bkey%7D"},
		"another case":               {"GET /user/reset/:key", "/USER/reset/k3y", "/USER/reset/%7Bkey%7D"},
		"escaped without need":       {"GET /user/reset/{key}", "/user/r%65set/k3y", "/user/r%65set/%7Bkey%7D"},
		"an escaped plus":            {"GET /my+page/{key}", "/my%2Bpage/k3y", "/my%2Bpage/%7Bkey%7D"},
		"an escaped slash":           {"GET /user/reset/:key", "/user/reset%2Fk3y", "/user/%7Bkey%7D"},
		"rewritten":                  {"GET /new/{key}", "/old/k3y", "/old/%7Bkey%7D"},
		"below a prefix":             {"GET /{key}", "/api/k3y", "/api/%7Bkey%7D"},
		"slash at the end":           {"GET /{key}", "/k3y/", "/%7Bkey%7D/"},
		"fixed text":                 {"GET /v1/IPv6toIPv4NAT64DNS64/x", "/v1/IPv6toIPv4NAT64DNS64/x", "/v1/IPv6toIPv4NAT64DNS64/x"},
		"fixed text, not sure":       {"GET /v1/IPv6toIPv4NAT64DNS64/x", "/v1/" + token + "/x", "/v1/%5Bredacted%5D/x"},
		"empty segment":              {"GET /t/{token}/x", "/t//x", "/t//x"},
		"two that are escaped":       {"GET /u/{mail}/{token}", "/u/a%40b.example/a%2Fb", "/u/%7Bmail%7D/%7Btoken%7D"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, guardPath(tc.path, tc.route))
		})
	}
}

func TestExemptWildcardsAreLeftAlone(t *testing.T) {
	t.Parallel()
	const path = "/p/V1StGXR8Z5jdHi6BmyT0/V1StGXR8Z5jdHi6BmyT1"
	assert.Equal(t, "/p/V1StGXR8Z5jdHi6BmyT0/%7Bother%7D", guardPath(path, "GET /p/{id}/{other}", "id"))
	assert.Equal(t, "/t/abc", guardPath("/t/abc", "GET /t/{token}", "token"))
	assert.Equal(t, "/r/%7Btoken%7D", guardPath("/r/ada-abc", "GET /r/{user}-{token}", "user"))
	assert.Equal(t, "/r/ada-abc", guardPath("/r/ada-abc", "GET /r/{user}-{token}", "token"))
	assert.Equal(t, "/r/%7Buser%7D", guardPath("/r/ada@b.c", "GET /r/{user}-{id}", "id"))
	assert.Equal(t, "/r/ada@b.c", guardPath("/r/ada@b.c", "GET /r/{user}-{id}", "id", "user"))
	assert.Equal(t, "/p/%5Bredacted%5D/%5Bredacted%5D", guardPath(path, "", "id"), "without a route no wildcard is known")
}

func FuzzSegments(f *testing.F) {
	for _, seed := range [][2]string{
		{"/user/reset/secretkey123", "GET /user/reset/{key}"}, {"/a//b/", "/{a}/{b...}"}, {"/%ff%fe", "/:x/*y"},
		{"/a@b.example", "{"}, {"/", "GET /{$}"}, {"/a/V1StGXR8Z5jdHi6BmyT0", "/a/{id:[a-z/]{2}}"}, {"/*", ":"},
		{"/\xff\x00\u00fc", "/{\xff\x00\u00fc}"}, {"*", "*"}, {"/%7Bkey%7D", "/{{key}}"}, {"/a%zz", "/{token"}, {"/%", "/%"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, path, route string) {
		const origin = "https://shop.example.com"
		for _, escaped := range []string{path, (&url.URL{Path: "/" + path}).EscapedPath()} {
			if !strings.HasPrefix(escaped, "/") || !chars.IsURL(escaped) {
				continue
			}
			out, redacted := New(false, nil).appendSegments([]byte(origin), escaped, route)
			rest, kept := strings.CutPrefix(string(out), origin)
			require.True(t, kept)
			require.True(t, chars.IsURL(rest), "%q", rest)
			require.True(t, strings.HasPrefix(rest, "/"), "%q", rest)
			require.Equal(t, strings.Count(escaped, "/"), strings.Count(rest, "/"))
			require.LessOrEqual(t, redacted, strings.Count(rest, "/"))
			u, err := url.Parse(string(out))
			require.NoError(t, err, "a segment that cannot be read is redacted")
			require.Equal(t, "shop.example.com", u.Host)
		}
	})
}
