package rpctest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/footfall-dev/footfall"
)

func panicsReachTheHost(t *testing.T, s Subject) {
	boom := errors.New("boom")
	tests := []struct {
		name  string
		value any
		rules []footfall.StatusClass
		want  []string // classes whose rule made an event
	}{
		{"an error", boom, []footfall.StatusClass{0, footfall.Success, footfall.ClientError, footfall.ServerError}, []string{"class 0", "class 4"}},
		{"http.ErrAbortHandler", http.ErrAbortHandler, []footfall.StatusClass{0, footfall.ServerError}, nil},
		{"http.ErrAbortHandler, asked for", http.ErrAbortHandler, []footfall.StatusClass{footfall.Aborted}, []string{"class 8"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, kind Kind) {
				p := kind.procedure(func(context.Context, Stream) error { panic(tt.value) })
				var rules []footfall.Rule
				for _, class := range tt.rules {
					rules = append(rules, footfall.Rule{Route: p.Name, Event: fmt.Sprintf("class %d", class), Status: class})
				}
				var mu sync.Mutex
				var recovered []any
				tracker := newTracker(t, func(*footfall.Config) {})
				site := s.serve(t, App{Tracker: tracker.Tracker, Rules: rules, Procedures: []Procedure{p}, Recovered: func(v any) {
					mu.Lock()
					defer mu.Unlock()
					recovered = append(recovered, v)
				}})
				site.Tracker = tracker
				if a := site.call(t, p, nil); a.Error.Code != Internal {
					t.Errorf("answered with %v", a)
				}
				expectNames(t, site.events(), tt.want...)
				if len(recovered) != 1 || recovered[0] != tt.value {
					t.Errorf("the host recovered %v", recovered)
				}
			})
		})
	}
}

// isClientError reports whether the status of a code is 4xx.
func isClientError(c Code) bool {
	switch c {
	case Canceled, 3, NotFound, 6, 7, 8, 9, 10, 11, Unauthenticated:
		return true
	}
	return false
}

func errorsAreRecordedWithTheirCode(t *testing.T, s Subject) {
	type failure struct {
		name string
		err  error
		code Code
	}
	failures := []failure{
		{"an error without a code", errors.New("it fails"), Unknown},
		{"context.Canceled", context.Canceled, Canceled},
		{"context.DeadlineExceeded, wrapped", fmt.Errorf("asking the stock: %w", context.DeadlineExceeded), DeadlineExceeded},
		{"a code, wrapped", fmt.Errorf("asking the stock: %w", &Error{Code: NotFound, Message: "none"}), NotFound},
	}
	for c := Canceled; c <= Unauthenticated; c++ {
		failures = append(failures, failure{fmt.Sprintf("code %d", c), &Error{Code: c, Message: "it fails"}, c})
	}
	each(t, func(t *testing.T, kind Kind) {
		for _, f := range failures {
			t.Run(f.name, func(t *testing.T) {
				p := kind.procedure(func(context.Context, Stream) error { return f.err })
				site := s.open(t, []footfall.Rule{
					{Route: p.Name, Event: "client", Status: footfall.ClientError},
					{Route: p.Name, Event: "server", Status: footfall.ServerError},
					{Route: p.Name, Event: "success", Status: footfall.Success | footfall.Aborted},
				}, p)
				if a := site.call(t, p, nil); a.Error.Code != f.code {
					t.Errorf("the client saw %v, want code %d", a.Error, f.code)
				}
				want := "server"
				if isClientError(f.code) {
					want = "client"
				}
				expectNames(t, site.events(), want)
			})
		}
	})
}

// answers are handlers whose answers an adapter must not change.
func answers(kind Kind) map[string]func(context.Context, Stream) error {
	decorate := func(s Stream) {
		for i := range 20 {
			s.SetHeader(fmt.Sprintf("X-Many-%d", i), fmt.Sprint(i))
		}
		s.SetTrailer("X-Sum", "42")
	}
	return map[string]func(context.Context, Stream) error{
		"messages": echo(kind),
		"headers and trailers": func(ctx context.Context, s Stream) error {
			decorate(s)
			return echo(kind)(ctx, s)
		},
		"a long message": func(_ context.Context, s Stream) error {
			if _, err := drain(s); err != nil {
				return err
			}
			return s.Send(strings.Repeat("0123456789", 20_000))
		},
		"an error": func(_ context.Context, s Stream) error {
			decorate(s)
			return &Error{Code: NotFound, Message: "no such product"}
		},
		"an error after all was read": func(_ context.Context, s Stream) error {
			n, err := drain(s)
			return errors.Join(err, &Error{Code: NotFound, Message: fmt.Sprintf("none of %d", n)})
		},
		"what was asked": func(_ context.Context, s Stream) error {
			if _, err := drain(s); err != nil {
				return err
			}
			return s.Send(s.Header("X-Asked") + s.Header("X-Forwarded-Host"))
		},
		"an error of the context": func(context.Context, Stream) error { return context.DeadlineExceeded },
	}
}

// drain receives all messages and counts them.
func drain(s Stream) (n int, err error) {
	for ; ; n++ {
		if _, err := s.Receive(); err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

func answerIsTheSame(t *testing.T, s Subject) {
	each(t, func(t *testing.T, kind Kind) {
		for name, handler := range answers(kind) {
			t.Run(name, func(t *testing.T) {
				p := kind.procedure(handler)
				ask := func(site *site) Answer {
					sent, _ := kind.conversation("a", "b")
					header := forwarded("shop.example.com")
					header["X-Asked"] = "asked"
					a := site.call(t, p, header, sent...)
					delete(a.Header, "Date") // may differ between two equal answers
					delete(a.Trailer, "Date")
					return a
				}
				bare := ask(s.serve(t, App{Bare: true, Procedures: []Procedure{p}}))
				wrapped := ask(s.open(t, []footfall.Rule{{Route: p.Name, Event: "seen"}}, p))
				if !reflect.DeepEqual(bare, wrapped) {
					t.Errorf("with the adapter %.600q\nwithout it %.600q", fmt.Sprint(wrapped), fmt.Sprint(bare))
				}
				if len(bare.Messages) == 0 && bare.Error == (Error{}) {
					t.Error("there was no answer")
				}
			})
		}
	})
}
