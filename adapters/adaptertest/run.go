// Package adaptertest tests this project's adapters. An adapter describes itself and its
// framework as a Subject. Run tests it with one table of rows, and Conform with the conformance
// suite of footfalltest.
package adaptertest

import (
	"slices"
	"testing"
)

// row is one test that every adapter passes.
type row struct {
	name string
	run  func(*Stage)
	need need
}

var rows = []row{
	{"below the recovery a panic is recorded and passed on", recoveryMayStandAbove, nothing},
	{"above the recovery a panic is recorded with the status of its answer", recoveryMayStandBelow, nothing},
	{"a handler that ends its goroutine is aborted", goexitIsAborted, wild},
	{"a refusal by a middleware below is recorded", refusalIsRecorded, nothing},
	{"an error is recorded with the status of its answer", errorIsRecordedAsAnswered, nothing},
	{"the application's handler of errors is called once and can track", errorHandlerIsCalledOnce, onError},
	{"an error after a flush is recorded with the status that the client saw", errorAfterFlush, netHTTP},
	{"a hijacked connection is a success even if the handler fails, and a refused upgrade is not", hijackedIsSuccess, netHTTP},
	{"an answer of a net/http middleware is recorded", answerInPlaceIsBelieved, useHTTP},
	{"a redirect to another spelling makes no event", otherSpellingIsNoVisit, wild},
	{"middlewares above see the same request as without the adapter", requestAboveIsAsWithout, netHTTP},
	{"wildcards become props", wildcardsBecomeProps, wild},
	{"rules for the route apply, and no others", rulesForTheRouteApply, nothing},
	{"Track knows tracker and page", trackKnowsTrackerAndPage, nothing},
	{"Track knows tracker and page after the client has left", trackKnowsThePageOfWhoLeft, leaving},
	{"Track knows the route", trackKnowsTheRoute, wild},
	{"Track without the middleware returns ErrNoTracker", trackWithoutMiddlewareSaysSo, nothing},
	{"rules apply without a context value", rulesNeedNoContextValue, nothing},
	{"the request is the original without a context value", requestIsTheOriginal, netHTTP},
	{"a tracker that does nothing changes nothing", noTrackerChangesNothing, nothing},
	{"Config.Skip and the rules see the request", skipSeesTheRequest, wild},
	{"prefetches and referers are seen without Config.Skip", headersAreSeenWithoutSkip, wild},
	{"a page over TLS is https", pageOverTLSIsHTTPS, nothing},
	{"forwarded headers count from trusted proxies only, and Config.PublicURL before them", pageIsThePublicOne, nothing},
	{"the page is the configured one", pageIsTheConfigured, nothing},
	{"the page outlives the buffers of its request", pageOutlivesBuffers, wild},
	{"a client's host never costs an event", hostsCostNoEvent, nothing},
	{"AnyRoute leaves out routes with their own rule", rulesForARouteSilenceAnyRoute, nothing},
	{"the status is a prop and a class", statusIsAPropAndAClass, nothing},
	{"PropsOf makes props of the request", propsOfTheRequest, nothing},
	{"automatic names leave out TrimPrefix", namesLeaveOutAPrefix, nothing},
	{"AnyRoute leaves out what programs ask for", anyRouteLeavesOutPrograms, wild},
	{"a site set above the middleware is the events' site", siteAboveIsTheEvents, nothing},
	{"64 clients at once do not mix", clientsDoNotMix, nothing},
	{"a wrong rule is logged and left out", wrongRuleIsLogged, nothing},
	{"CheckRules refuses routes that are not registered", checkRulesKnowsTheRoutes, register},
}

// need is a part of a subject without which a row cannot run, and the reason to log.
type need struct {
	why   string
	lacks func(Subject) bool
}

var (
	nothing  need
	wild     = need{"RPC has no wildcards, methods and links", func(s Subject) bool { return s.Service != "" }}
	onError  = need{"the framework has no handler of errors", func(s Subject) bool { return s.OnError == nil }}
	useHTTP  = need{"the framework has no middlewares of net/http", func(s Subject) bool { return s.UseHTTP == nil }}
	netHTTP  = need{"the framework has no requests and writers of net/http", func(s Subject) bool { return s.Handler == nil }}
	leaving  = need{"the framework does not notice that a client has left", func(s Subject) bool { return s.Handler == nil && s.Service == "" }}
	register = need{"another test is about CheckRules", func(s Subject) bool { return s.Register == nil }}
)

// Row is a test that only some frameworks have.
type Row struct {
	Name string
	Test func(*Stage)
}

// Run runs the table for an adapter, and own rows, each against a server on a socket, except the
// row about a handler that ends its goroutine.
func Run(t *testing.T, s Subject, own ...Row) {
	t.Helper()
	all := slices.Clone(rows)
	for _, r := range own {
		all = append(all, row{r.Name, r.Test, nothing})
	}
	for _, r := range all {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			why := s.Impossible[r.name]
			if why == "" && r.need.lacks != nil && r.need.lacks(s) {
				why = r.need.why
			}
			if why != "" {
				t.Logf("IMPOSSIBLE: %s", why)
				return
			}
			r.run(NewStage(t, s))
		})
	}
}
