package storefront

import (
	"embed"
	"fmt"
	"html/template"
	"slices"
)

// Name of the shop.
const Name = "Murrowby"

// Currency of every price. Prices are whole cents: a float would not add up.
const Currency = "EUR"

// Cents is a price in cents of Currency.
type Cents int

// String returns the price as the pages show it.
func (c Cents) String() string {
	if c < 0 {
		return "−" + (-c).String()
	}
	return fmt.Sprintf("€%d.%02d", c/100, c%100)
}

// Product is something that the shop sells.
type Product struct {
	Slug    string
	Name    string
	Price   Cents
	Line    string // for the shelf
	Text    string // for the product's own page
	Details []string
	Tone    string // of the panel behind the drawing
}

// Drawing returns the product's picture, an inline SVG that takes its colours
// from the style sheet.
func (p *Product) Drawing() (template.HTML, error) { return drawing(p.Slug) }

//go:embed drawings/*.svg
var drawings embed.FS

// drawing returns an SVG file unescaped, because the files are part of the program.
func drawing(name string) (template.HTML, error) {
	svg, err := drawings.ReadFile("drawings/" + name + ".svg")
	return template.HTML(svg), err
}

// Find returns the product with the slug, or nil.
func Find(slug string) *Product {
	i := slices.IndexFunc(Catalog, func(p *Product) bool { return p.Slug == slug })
	if i < 0 {
		return nil
	}
	return Catalog[i]
}

// Catalog lists what the shop sells. None of it exists.
var Catalog = []*Product{
	{
		Slug: "drowsy-kettle", Name: "Drowsy Kettle", Price: 5900, Tone: "sage",
		Line: "Comes to the boil in its own time.",
		Text: "A stove-top kettle with a low, wide belly and a lid that never rattles. It hums a minute before it whistles, so that you can be there first.",
		Details: []string{
			"Holds 1.4 litres, about five cups",
			"Enamelled steel, inside and out",
			"For gas, induction and open fires",
		},
	},
	{
		Slug: "cloud-mug", Name: "Cloud Mug", Price: 1850, Tone: "sky",
		Line: "Thick walls, one cloud.",
		Text: "Thrown a little heavy on purpose: it keeps tea warm for the length of a chapter. No two clouds are alike, and one in forty rains.",
		Details: []string{
			"Holds 350 ml to the cloud, 400 to the rim",
			"Stoneware with a matt glaze",
			"Happy in a dishwasher",
		},
	},
	{
		Slug: "long-lamp", Name: "Long Lamp", Price: 8400, Tone: "wheat",
		Line: "Reaches over the armchair to your page.",
		Text: "A reading lamp with an arm as long as your own. Its shade throws a circle just wide enough for a book, and leaves the rest of the room to the evening.",
		Details: []string{
			"Arm of 72 cm, turns all the way round",
			"Warm light, dimmed at the foot",
			"Cloth cable of three metres",
		},
	},
	{
		Slug: "harbour-blanket", Name: "Harbour Blanket", Price: 7200, Tone: "clay",
		Line: "Woven for windows that face the weather.",
		Text: "A blanket in the stripes of an old signal flag, which, we are told, stands for “come in, the kettle is on”. Big enough for two who agree.",
		Details: []string{
			"140 by 200 cm, with a short fringe",
			"New wool, washed soft",
			"Air it; it hardly ever needs a wash",
		},
	},
	{
		Slug: "nine-minute-glass", Name: "Nine-Minute Glass", Price: 2600, Tone: "plum",
		Line: "Longer than tea, shorter than a nap.",
		Text: "Nine minutes is what it takes to do nothing properly. Turn it over, sit down, and let nobody hurry you until the last grain has dropped.",
		Details: []string{
			"Runs nine minutes, give or take ten seconds",
			"Hand-blown glass in a beech frame",
			"16 cm tall, stands on either end",
		},
	},
	{
		Slug: "pocket-almanac", Name: "Pocket Almanac", Price: 1400, Tone: "moss",
		Line: "A year of weather, yours to fill in.",
		Text: "One line a day for what the sky did, and what you did about it. After a year you own the only almanac in the world that was right every time.",
		Details: []string{
			"384 ruled pages, sewn so that they lie flat",
			"Cloth cover and a ribbon",
			"9 by 14 cm, fits a coat pocket",
		},
	},
}
