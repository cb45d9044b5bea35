package rpctest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
)

// Run runs the table of adaptertest, and the rows below, for each kind of procedure.
func Run(t *testing.T, s Subject) {
	t.Helper()
	for _, kind := range Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			adaptertest.Run(t, s.of(kind), []adaptertest.Row{
				{Name: "an unknown procedure makes no event", Test: unknownMakesNoEvent},
				{Name: "a returned error is recorded with its code", Test: errorsAreRecordedWithTheirCode},
				{Name: "response, headers and trailers are the same", Test: answerIsTheSame},
				{Name: "Config.Skip sees the procedure, and PageReferer applies", Test: skipAndRefererApply},
			}...)
		})
	}
}

func unknownMakesNoEvent(s *adaptertest.Stage) {
	s.Watch(footfall.Rule{Route: footfall.AnyRoute}, adaptertest.Seen(s.Route("/page")), footfall.Rule{Route: footfall.NoRoute, Event: "missing"})
	s.On("/page", adaptertest.Fine)
	assert.Equal(s, http.StatusNotImplemented, s.Get("/secret"))
	s.Service = "/rpctest.v1.Secret"
	assert.Equal(s, http.StatusNotImplemented, s.Get("/page"))
	s.Expect()
}

func errorsAreRecordedWithTheirCode(s *adaptertest.Stage) {
	type failure struct {
		err  error
		code Code
	}
	failures := map[string]failure{
		"an error without a code":            {errors.New("it fails"), 2},
		"context.Canceled":                   {context.Canceled, 1},
		"context.DeadlineExceeded, wrapped":  {fmt.Errorf("asking the stock: %w", context.DeadlineExceeded), 4},
		"a code, wrapped":                    {fmt.Errorf("asking the stock: %w", &Error{Code: 5, Message: "none"}), 5},
		"context.DeadlineExceeded, returned": {context.DeadlineExceeded, 4},
	}
	for c := range Code(len(statuses) - 1) {
		failures[fmt.Sprintf("code %d", c+1)] = failure{&Error{Code: c + 1, Message: "it fails"}, c + 1}
	}
	for name, f := range failures {
		s.Each(name, func(s *adaptertest.Stage) {
			s.Watch(adaptertest.Classes(s.Route("/fails"))...)
			s.On("/fails", func(adaptertest.Context) error { return f.err })
			client := s.Connect().(*client)
			defer client.Close()
			assert.Equal(s, f.code, client.call(s.T, adaptertest.Request{Path: service + "/fails"}, "hello").Error.Code)
			client.Close()
			want := "server error"
			if statuses[f.code] < 500 {
				want = "client error"
			}
			s.Expect(want)
		})
	}
}

// echo sends back what it receives, in one message if the server does not stream.
func (k Kind) echo(s Stream) error {
	var received []string
	for {
		message, err := s.Receive()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		received = append(received, message)
		if k == BidiStream {
			if err := s.Send(message); err != nil {
				return err
			}
		}
	}
	switch k {
	case BidiStream:
		return nil
	case ServerStream:
		for message := range strings.SplitSeq(received[0], " ") {
			if err := s.Send(message); err != nil {
				return err
			}
		}
		return nil
	}
	return s.Send(strings.Join(received, " "))
}

// conversation is what a client sends to echo, and receives.
func (k Kind) conversation() (sent, received []string) {
	words, whole := []string{"a", "b", "c"}, []string{"a b c"}
	switch k {
	case ClientStream:
		return words, whole
	case ServerStream:
		return whole, words
	case BidiStream:
		return words, words
	}
	return whole, whole
}

// answers are handlers whose answers an adapter must not change.
func (k Kind) answers() map[string]func(Stream) error {
	decorate := func(s Stream) {
		for i := range 20 {
			s.SetHeader(fmt.Sprintf("X-Many-%d", i), fmt.Sprint(i))
		}
		s.SetTrailer("X-Sum", "42")
	}
	drained := func(s Stream, send func(n int) error) error {
		n, err := drain(s)
		if err != nil {
			return err
		}
		return send(n)
	}
	return map[string]func(Stream) error{
		"messages":             k.echo,
		"headers and trailers": func(s Stream) error { decorate(s); return k.echo(s) },
		"a long message": func(s Stream) error {
			return drained(s, func(int) error { return s.Send(strings.Repeat("0123456789", 20_000)) })
		},
		"an error": func(s Stream) error { decorate(s); return coded(http.StatusNotFound) },
		"an error after all was read": func(s Stream) error {
			return drained(s, func(n int) error { return &Error{Code: 5, Message: fmt.Sprintf("none of %d", n)} })
		},
		"what was asked": func(s Stream) error {
			return drained(s, func(int) error { return s.Send(s.Header("X-Asked") + s.Header("X-Forwarded-Host")) })
		},
		"an error of the context": func(Stream) error { return context.DeadlineExceeded },
	}
}

func answerIsTheSame(s *adaptertest.Stage) {
	for name, handler := range s.App.(*app).kind.answers() {
		s.Each(name, func(s *adaptertest.Stage) {
			ask := func(s *adaptertest.Stage) Answer {
				a := s.App.(*app)
				a.Procedures = append(a.Procedures, Procedure{service + "/same", a.kind, func(_ context.Context, stream Stream) error { return handler(stream) }})
				client := s.Connect().(*client)
				defer client.Close()
				sent, received := a.kind.conversation()
				answer := client.call(s.T, adaptertest.Request{Path: service + "/same", Header: []string{"X-Forwarded-Host", "shop.example.com", "X-Asked", "asked"}}, sent...)
				delete(answer.Header, "Date") // may differ between two equal answers
				delete(answer.Trailer, "Date")
				if name == "messages" {
					assert.Equal(s, received, answer.Messages)
				}
				return answer
			}
			bare := ask(s.Another(s.T))
			s.Watch(adaptertest.Seen(s.Route("/same")))
			assert.Equal(s, bare, ask(s))
			assert.NotZero(s, len(bare.Messages)+len(bare.Error.Message), "there was no answer")
		})
	}
}

func skipAndRefererApply(s *adaptertest.Stage) {
	s = s.Another(s.T, func(c *footfall.Config) {
		c.Skip = func(r *http.Request) bool {
			assert.Equal(s, http.MethodPost, r.Method)
			assert.NotEmpty(s, r.Host)
			return r.URL.Path == service+"/skipped"
		}
	})
	s.Watch(footfall.Rule{Route: footfall.AnyRoute, Event: "referred", Page: footfall.PageReferer}, footfall.Rule{Route: footfall.AnyRoute, Event: "plain"})
	for _, path := range []string{"/kept", "/skipped"} {
		s.On(path, adaptertest.Fine)
	}
	s.Get("/kept", "Referer", "https://www.example.com/basket?token=1")
	s.Get("/skipped", "Referer", "https://www.example.com/basket?token=1")
	for i, e := range s.Expect("referred", "plain") {
		assert.Equal(s, []string{"https://www.example.com/basket", s.URL("/kept")}[i], e.URL)
	}
}
