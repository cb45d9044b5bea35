package event_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/event"
	"github.com/footfall-dev/footfall/footfalltest"
)

type embedded struct {
	Amount int `prop:"amount"`
}

var runs atomic.Int64

// unique returns another name in each run of a test, because definitions stay.
func unique(name string) string { return fmt.Sprint(name, "_", runs.Add(1)) }

// wrong is a definition of any type, with a value.
type wrong struct {
	err     error
	track   func(context.Context) error
	with    func(*footfall.Tracker) error
	asProps func(*footfall.Tracker) error
	durable func(*footfall.Tracker) error
}

func define[T any](name string) wrong {
	d := event.Define[T](name)
	var v T
	return wrong{
		d.Err(),
		func(ctx context.Context) error { return d.Track(ctx, v) },
		func(t *footfall.Tracker) error { return d.TrackWith(context.Background(), t, v) },
		func(t *footfall.Tracker) error { return t.Track(context.Background(), d.Name(), d.Props(v)...) },
		func(t *footfall.Tracker) error { return t.TrackDurable(context.Background(), d.Event(v)) },
	}
}

func TestADefinitionWithAMistakeTracksNothing(t *testing.T) {
	t.Parallel()
	const neither = "is neither a string nor a number, nor a pointer to one"
	for name, row := range map[string]struct {
		wrong wrong
		field string
		want  string
	}{
		"no name":     {define[embedded](""), "", "name: empty"},
		"long name":   {define[embedded](strings.Repeat("n", 121)), "", "name: longer than 120 characters"},
		"NUL in name": {define[embedded]("a\x00b"), "", "name: not text"},
		"no struct":   {define[int]("m1"), "", "int is no struct"},
		"a pointer":   {define[*embedded]("m2"), "", "*event_test.embedded is no struct"},
		"no tag":      {define[struct{ A int }]("m3"), ".A", "no tag"},
		"tag of JSON": {define[struct {
			A int `json:"a"`
		}]("m4"), ".A", "no tag"},
		"empty key": {define[struct {
			A int `prop:""`
		}]("m6"), ".A", "props: a key is empty"},
		"only options": {define[struct {
			A int `prop:",omitempty"`
		}]("m7"), ".A", "props: a key is empty"},
		"no UTF-8": {define[struct {
			A int `prop:"\xff"`
		}]("m9"), ".A", "not valid UTF-8"},
		"bad option": {define[struct {
			A int `prop:"a,string"`
		}]("m10"), ".A", `the option "string"`},
		"two options": {define[struct {
			A int `prop:"a,omitempty,string"`
		}]("m11"), ".A", `the option "omitempty,string"`},
		"no option": {define[struct {
			A int `prop:"a,"`
		}]("m12"), ".A", `the option ""`},
		"dash, options": {define[struct {
			A int `prop:"-,omitempty"`
		}]("m13"), ".A", "key - has no options"},
		"unexported": {define[struct {
			a int `prop:"a"`
		}]("m14"), ".a", "not exported"},
		"bool": {define[struct {
			A bool `prop:"a"`
		}]("m15"), ".A", "a bool " + neither},
		"time": {define[struct {
			A time.Time `prop:"a"`
		}]("m16"), ".A", "a time.Time " + neither},
		"slice": {define[struct {
			A []string `prop:"a"`
		}]("m17"), ".A", "a []string " + neither},
		"any": {define[struct {
			A any `prop:"a"`
		}]("m18"), ".A", "a interface {} " + neither},
		"uintptr": {define[struct {
			A uintptr `prop:"a"`
		}]("m19"), ".A", "a uintptr " + neither},
		"complex": {define[struct {
			A complex64 `prop:"a"`
		}]("m20"), ".A", "a complex64 " + neither},
		"two stars": {define[struct {
			A **int `prop:"a"`
		}]("m21"), ".A", "a **int " + neither},
		"a nested one": {define[struct {
			A embedded `prop:"a"`
		}]("m22"), ".A", "a event_test.embedded " + neither},
		"two of a key": {define[struct {
			A, B int `prop:"a"`
		}]("m23"), ".B", "has the key of A"},
		"key of inner": {define[struct {
			embedded
			Amount int `prop:"amount"`
		}]("m24"), ".Amount", "has the key of embedded.Amount"},
		"embedded pointer": {define[struct{ *embedded }]("m25"), ".embedded", "an embedded pointer"},
		"embedded time":    {define[struct{ time.Time }]("m26"), ".Time", "an embedded struct without props"},
		"in an embedded":   {define[struct{ inner }]("m27"), ".inner.A", "no tag"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, ok := errors.AsType[*footfall.FieldError](row.wrong.err)
			require.True(t, ok)
			assert.Regexp(t, `^Define\[(event_test\.embedded|\*event_test\.embedded|struct|int)\]`, bad.Field)
			assert.True(t, strings.HasSuffix(bad.Field, "]"+row.field), bad.Field)
			assert.Contains(t, bad.Reason, row.want)

			log := &footfalltest.Log{}
			tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = log.Logger() })
			assert.Equal(t, row.wrong.err, row.wrong.track(footfall.WithTracker(t.Context(), tracker.Tracker)))
			assert.Equal(t, row.wrong.err, row.wrong.with(tracker.Tracker))
			assert.Error(t, row.wrong.asProps(tracker.Tracker))
			assert.Error(t, row.wrong.durable(tracker.Tracker))
			assert.Equal(t, row.wrong.err, row.wrong.track(t.Context()), "without a tracker, too")
			assert.Equal(t, row.wrong.err, row.wrong.with(nil))
			assert.EqualValues(t, 4, tracker.Stats().Invalid)
			assert.Zero(t, tracker.Stats().Tracked)
			require.NoError(t, tracker.Close(t.Context()))
			assert.Contains(t, log.String(), strings.Trim(strconv.Quote(bad.Reason), `"`))
		})
	}
}

type inner struct{ A int }

func TestDefineReturnsEveryMistakeAtOnce(t *testing.T) {
	t.Parallel()
	w := define[struct {
		A bool `prop:"a"`
		B int
		C int `prop:"a"`
		D int `prop:"d"`
		E int `prop:"d"`
	}](strings.Repeat(" ", int(runs.Add(1))))
	for _, want := range []string{"name: empty", "].A: a bool", "].B: no tag", "].E: has the key of D"} {
		assert.ErrorContains(t, w.err, want)
	}
	assert.NotContains(t, w.err.Error(), "].C", "the key is free, because A is no prop")
	assert.Len(t, strings.Split(w.err.Error(), "\n"), 4)
}

func TestASecondDefinitionOfANameIsAMistake(t *testing.T) {
	t.Parallel()
	name := unique("defined_twice")
	first, second, third := define[embedded](name), define[counted](name), define[counted](name)
	assert.NoError(t, first.err)
	assert.EqualError(t, second.err, "footfall: Define[event_test.counted]: name: the earlier definition with event_test.embedded has the same")
	assert.Equal(t, second.err, third.err)
	tracker := footfalltest.New(t, quiet)
	assert.NoError(t, first.with(tracker.Tracker))
	assert.Error(t, second.with(tracker.Tracker))
	assert.Equal(t, []string{name}, tracker.Names())
	var listed []event.Info
	for _, d := range event.All() {
		if d.Name == name {
			listed = append(listed, d)
		}
	}
	require.Len(t, listed, 2, "the third is the second again")
	assert.Empty(t, listed[0].Mistakes)
	assert.Equal(t, []string{"Define[event_test.counted]: name: the earlier definition with event_test.embedded has the same"}, listed[1].Mistakes)
}

func TestADefinitionThatDefineDidNotMakeIsRefused(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, quiet)
	var missing *event.Definition[embedded]
	for _, d := range []*event.Definition[embedded]{missing, new(event.Definition[embedded])} {
		const want = "Definition[event_test.embedded]: not made by event.Define"
		assert.ErrorContains(t, d.Err(), want)
		assert.ErrorContains(t, d.TrackWith(t.Context(), tracker.Tracker, embedded{}), want)
		assert.ErrorContains(t, d.Track(footfall.WithTracker(t.Context(), tracker.Tracker), embedded{}), want)
		assert.Error(t, tracker.Track(t.Context(), "named", d.Props(embedded{})...))
		assert.Error(t, tracker.TrackEvent(t.Context(), d.Event(embedded{})))
	}
	assert.EqualValues(t, 8, tracker.Stats().Invalid)
	assert.Empty(t, tracker.Events())
}

func TestAnEventMayHaveNoProps(t *testing.T) {
	t.Parallel()
	d := event.Define[struct{}](unique("nothing_to_say"))
	tracker := footfalltest.New(t, quiet)
	require.NoError(t, d.TrackWith(t.Context(), tracker.Tracker, struct{}{}))
	require.Len(t, tracker.Events(), 1)
	assert.Empty(t, tracker.Events()[0].Props)
}
