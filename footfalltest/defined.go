package footfalltest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/event"
)

// OnlyDefined makes the test fail at its end if the tracker has accepted an event that is not defined, or if a definition of the
// program has a mistake (see package event).
//
// The name of an event is the name of a definition, or the name that a rule of the tracker's middlewares and adapters gives to
// an event, automatic names included. An event with the name of a definition has its props: none is missing, unless it is optional, and
// each is a string or a number as the definition says. Other props are those of Config.Props, Config.LandingProp and
// extra, which lists keys, such as the keys of footfall.WithProps. If a rule has the same name, the props are not compared.
//
// Events are compared as Config.BeforeSend returns them: list the props that it adds in extra, and define the names that it gives.
//
// The tracker must be enabled and have the Transport of New. Events that only the table of an outbox has are not seen.
func (t *Tracker) OnlyDefined(extra ...string) {
	t.tb.Helper()
	if t.cfg.Disabled || t.cfg.Transport != footfall.Transport(t.recorded) {
		t.tb.Fatalf("footfalltest: OnlyDefined sees no events: the tracker is disabled or has another Transport")
	}
	extra = append(slices.Clone(extra), t.cfg.LandingProp)
	for _, p := range t.cfg.Props {
		extra = append(extra, p.Key())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checks = append(t.checks, func() { t.checkDefined(extra) })
}

// checkDefined runs after the tracker was closed.
func (t *Tracker) checkDefined(extra []string) {
	definitions := make(map[string]event.Info)
	for _, d := range event.All() {
		for _, mistake := range d.Mistakes {
			t.tb.Errorf("footfalltest: the definition of %q has a mistake: %s", d.Name, mistake)
		}
		if _, known := definitions[d.Name]; !known {
			definitions[d.Name] = d
		}
	}
	ruled := t.recorded.ruledNames()
	problems := make(map[string]int)
	for _, e := range t.recorded.all() {
		d, defined := definitions[e.Name]
		switch {
		case ruled[e.Name]:
		case !defined:
			problems[fmt.Sprintf("neither a definition nor a rule has the name %q", e.Name)]++
		case len(d.Mistakes) == 0:
			for _, problem := range unlike(e.Props, d.Props, extra) {
				problems[fmt.Sprintf("%q, defined with %s: %s", e.Name, d.Type, problem)]++
			}
		}
	}
	for _, problem := range slices.Sorted(maps.Keys(problems)) {
		t.tb.Errorf("footfalltest: %s (%d events)", problem, problems[problem])
	}
}

// unlike says how props differ from a definition.
func unlike(props map[string]any, defined []event.PropInfo, extra []string) (problems []string) {
	for _, p := range defined {
		switch value := props[p.Key].(type) {
		case nil:
			if !p.Optional {
				problems = append(problems, fmt.Sprintf("the prop %q is missing", p.Key))
			}
		case float64:
			if p.Type != "number" {
				problems = append(problems, fmt.Sprintf("the prop %q is a number", p.Key))
			}
		case string:
			if p.Type != "string" && value != "[redacted]" {
				problems = append(problems, fmt.Sprintf("the prop %q is a string", p.Key))
			}
		}
	}
	for key := range props {
		if !slices.ContainsFunc(defined, func(p event.PropInfo) bool { return p.Key == key }) && !slices.Contains(extra, key) {
			problems = append(problems, fmt.Sprintf("the prop %q is not defined", key))
		}
	}
	return problems
}
