package dashboard

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall/collector/account"
)

// Placeholders of values that the page does not know.
const (
	anyKey  = "YOUR_API_KEY"
	anySite = "YOUR_SITE_ID"
)

// snippets are examples that send the first event.
type snippets struct {
	Script string
	Server server
	Curl   string
	HasKey bool
}

func (b *board) snippets(r *http.Request, site account.Site) snippets {
	base := b.publicURL(r)
	return snippets{
		Script: `<script defer src="` + base + `/t.js" data-site="` + site.Domain + `"></script>`,
		Server: b.server(r, anyKey, site),
		Curl: "curl " + base + "/v1/events \\\n" +
			"  -H 'Authorization: Bearer " + anyKey + "' \\\n" +
			"  -H 'Content-Type: application/json' \\\n" +
			"  -d '{\n" +
			`    "site_id": "` + site.ID + "\",\n" +
			`    "name": "signup",` + "\n" +
			`    "url": "https://` + site.Domain + "/signup\",\n" +
			`    "props": {"plan": "pro"}` + "\n  }'",
		HasKey: len(b.Account.Keys()) > 0,
	}
}

// server is what a program in Go needs to send events.
type server struct {
	Env string // lines for a shell
	Go  string // lines of a function, which import context, log, time and the library
}

// maxSites bounds the sites that Env lists.
const maxSites = 10

// server returns snippets for the first site; lines of Env name the others.
func (b *board) server(r *http.Request, key string, sites ...account.Site) server {
	var env strings.Builder
	env.WriteString("export FOOTFALL_BASE_URL=" + b.publicURL(r) + "\nexport FOOTFALL_API_KEY=" + key)
	domain := "www.example.com"
	if len(sites) == 0 {
		env.WriteString("\nexport FOOTFALL_SITE_ID=" + anySite)
	} else {
		domain = sites[0].Domain
		env.WriteString("\nexport FOOTFALL_SITE_ID=" + sites[0].ID)
	}
	if len(sites) > 1 {
		env.WriteString("  # " + sites[0].Domain)
		for _, site := range sites[1:min(len(sites), maxSites)] {
			env.WriteString("\n# export FOOTFALL_SITE_ID=" + site.ID + "  # " + site.Domain)
		}
	}
	return server{Env: env.String(), Go: `tracker, err := footfall.New(footfall.ConfigFromEnv())
if err != nil {
	log.Fatal(err)
}
ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
defer cancel()
page := footfall.WithURL(ctx, ` + strconv.Quote("https://"+domain+"/signup") + `)
if err := tracker.Track(page, "signup", footfall.P("plan", "pro")); err != nil {
	log.Fatal(err)
}
if err := tracker.Close(ctx); err != nil {
	log.Fatal(err)
}
log.Println("events that arrived:", tracker.Stats().Delivered)`}
}
