# Targets with a ## are listed by `make help`.

GO          ?= go
BIN         := $(CURDIR)/.bin
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
GORELEASE   := golang.org/x/exp/cmd/gorelease@v0.0.0-20261014143641-f0251eb4aa3e
GOLANGCI    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GORELEASER  := github.com/goreleaser/goreleaser/v2@v2.15.1
# A number of inputs: when a time is over, go test -fuzz fails now and then for nothing
# (golang/go#75804, until Go 1.27).
FUZZTIME    ?= 30000x
COUNT       ?= 5
# The tests with the build tag ci kill processes, make releases, build images and measure other SDKs.
WHOLE       := -tags ci

# bench has its own workspace, because other SDKs take long to compile.
WORKSPACES := . bench
# The modules of the workspaces, by folder.
MODULES = $(shell $(GO) list -m -f '{{.Dir}}') $(CURDIR)/bench
# Modules that are run in a checkout only, so with the versions of their workspace.
CHECKOUT := $(addprefix $(CURDIR)/,bench e2e examples examples/generators examples/jobs outbox/test)
OTHERS = $(filter-out $(CHECKOUT),$(MODULES))

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: shop
shop: ## Run the demo shop with a past of 30 days and 60 customers a minute
	$(GO) run ./examples/shop -history 30d -traffic 60

.PHONY: fleet
fleet: ## Run shops, NATS servers and relays, kill one of each, and print the account of the events
	$(GO) run ./examples/fleet

.PHONY: test
test: ## Test every module of the workspace, without bench and the tests that have the tag ci
	$(GO) test work

.PHONY: whole
whole: ## Test every module, with the tests that have the tag ci
	@set -e; for dir in $(WORKSPACES); do (cd $$dir && $(GO) test $(WHOLE) work); done

# The test cache does not notice changes in other modules.
.PHONY: docs
docs: ## Test the documents, the lengths of files and functions, and the recorded API
	$(GO) test -count 1 ./e2e/docs ./e2e/release
	$(GO) test $(WHOLE) -count 1 -run TestTheFolderAPI ./e2e/release

.PHONY: stranger
stranger: ## Get, build, test and run every public module from a module proxy made of this tree; follow the README in a clone
	$(GO) test $(WHOLE) -count 1 -run 'TestAStranger|TestStepsOfTheREADME' ./e2e/release ./e2e/docs

# go.mod of each adapter and of its tests names the lowest version of its framework, examples/go.mod the newest.
.PHONY: lowest
lowest: ## Test each adapter with the lowest version of its framework that it works with
	@set -e; for dir in adapters/footfall* adapters/footfall*/test; do (cd $$dir && GOWORK=off $(GO) test ./...); done

.PHONY: race
# The packages with the longest tests come first, so that no processor waits at the end. Long tests in fake time run
# without the race detector only (-short), and so does SQLite, which is C that was translated to Go.
race: ## Test every module with the race detector, in random order, except bench, examples, e2e and outbox/test
	.ci/race '$(GO) test $(WHOLE) -race -short -gcflags=modernc.org/...=-race=false -shuffle=on -timeout 20m' ./stream . ./collector/sqlite ./spool ./cmd/footfall ./transporttest/simulation ./lean $$($(GO) list work | grep -v -e /examples -e /e2e -e /outbox/test)

.PHONY: check
check: fmt vet vet32 fix lint race docs alone ## What to run before a commit: all but fuzzing and the main job

.PHONY: ci
ci: check whole lowest fuzz main-job ## What CI runs

.PHONY: fmt
fmt: ## Fail if gofmt would change a file
	@files=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$files" || { echo "gofmt: $$files"; exit 1; }

.PHONY: vet
vet: ## Vet every module
	@set -e; for dir in $(WORKSPACES); do (cd $$dir && $(GO) vet $(WHOLE) work); done

.PHONY: vet32
vet32: ## Vet the root, lean and spool for 32-bit machines
	@set -e; for arch in 386 arm; do for dir in . lean spool; do (cd $$dir && CGO_ENABLED=0 GOARCH=$$arch $(GO) vet ./...); done; done

.PHONY: fix
fix: ## Fail if go fix would modernise anything
	@set -e; for dir in $(WORKSPACES); do (cd $$dir; diff=$$($(GO) fix -diff $(WHOLE) work 2>&1) && test -z "$$diff" || { echo "$$diff"; echo "go fix: run 'go fix $(WHOLE) work' in $$dir"; exit 1; }); done

.PHONY: lint
lint: $(BIN)/staticcheck $(BIN)/actionlint ## Run staticcheck on every module, and actionlint on the workflows
	$(BIN)/actionlint -shellcheck= -pyflakes= .github/workflows/*.yml
	@set -e; for dir in $(OTHERS); do .ci/alone $$dir $(BIN)/staticcheck $(WHOLE) ./...; done
	@set -e; for dir in $(CHECKOUT); do (cd $$dir && $(BIN)/staticcheck $(WHOLE) ./...); done

$(BIN)/staticcheck: Makefile
	GOBIN=$(BIN) GOFLAGS= $(GO) install $(STATICCHECK) && touch $@

$(BIN)/actionlint: Makefile
	GOBIN=$(BIN) GOFLAGS= $(GO) install $(ACTIONLINT) && touch $@

.PHONY: gorelease
gorelease: $(BIN)/gorelease

$(BIN)/gorelease: Makefile
	GOBIN=$(BIN) GOFLAGS= $(GO) install $(GORELEASE) && touch $@

.PHONY: golangci
golangci: ## Run golangci-lint with .golangci.yml on every module
	@set -e; for dir in $(MODULES); do (cd $$dir && $(GO) run $(GOLANGCI) run --build-tags ci ./...); done

.PHONY: vuln
vuln: ## Look for known vulnerabilities (needs a network)
	@set -e; for dir in $(MODULES); do (cd $$dir && $(GO) run $(GOVULNCHECK) ./...); done

.PHONY: alone
alone: ## Build and vet each module by itself, as its users do, and check every go.mod
	@set -e; for dir in $(OTHERS); do echo "alone: $${dir#$(CURDIR)}"; .ci/alone $$dir $(GO) build -o /dev/null ./...; .ci/alone $$dir $(GO) vet $(WHOLE) ./...; done
	@set -e; for dir in $(MODULES); do .ci/alone $$dir $(GO) mod tidy -diff; done

.PHONY: bench
bench: ## Compare with other SDKs and the limits of the machine: below 20 min, writes bench/RESULTS.md
	cd bench && $(GO) run .

.PHONY: bench-quick
bench-quick: ## The same for callers, middleware and delivery alone, below 2 min, prints only
	cd bench && $(GO) run . -quick

.PHONY: microbench
microbench: ## Run the Go benchmarks of every module, each COUNT times, and print a table of medians
	@for dir in $(WORKSPACES); do (cd $$dir && $(GO) test -run '^$$' -bench . -benchmem -count $(COUNT) work); done | tee /dev/stderr | .ci/bench-table

.PHONY: fuzz
fuzz: ## Fuzz each target with FUZZTIME inputs
	@set -e; for package in . ./internal/jsontext ./internal/pattern ./internal/pii ./collector ./collector/sqlite/internal/colstore ./collector/internal/stats ./lean; do for target in $$($(GO) test -list '^Fuzz' $$package | grep ^Fuzz); do \
		$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$package; done; done

.PHONY: main-job
main-job: ## Run the shop with customers, see their events arrive
	.ci/main-job

.PHONY: screenshot
screenshot: ## Make the README's picture of the dashboard from the shop with -history 60d (needs Chromium)
	$(GO) test -tags screenshot -count 1 -run TestScreenshot ./e2e

.PHONY: cover
cover: ## Print the test coverage of the root module
	$(GO) test -coverpkg ./... -coverprofile coverage.out ./... >/dev/null && $(GO) tool cover -func coverage.out | tail -1

.PHONY: tidy
tidy: ## Tidy every go.mod
	@set -e; for dir in $(MODULES); do .ci/alone $$dir $(GO) mod tidy; done

.PHONY: release
release: ## Check VERSION, such as v0.1.0, run gorelease, make ci unless PASSED=1, and tag it locally; nothing is pushed
	$(GO) run ./e2e/release -version '$(VERSION)' $(if $(PASSED),-passed)

# Compiling goreleaser takes six minutes of processor time and 3 GB of disk, so CI does not.
.PHONY: release-check
release-check: $(BIN)/goreleaser ## Check .goreleaser.yaml, make the archives of this machine twice and look into them
	$(BIN)/goreleaser check
	$(GO) test -tags ci,goreleaser -count 1 -run TestGoreleaser -timeout 60m -v ./e2e/release

$(BIN)/goreleaser: Makefile
	GOBIN=$(BIN) GOFLAGS= $(GO) install $(GORELEASER) && touch $@

.PHONY: api
api: ## Write the exported API of each public module to api, which CI compares with the code
	$(GO) run ./e2e/release -api

.PHONY: next
next: ## Set the requirements among the modules to VERSION, the one that is released next
	$(GO) run ./e2e/release -next '$(VERSION)'

.PHONY: soak
soak: ## Long tests that CI leaves out: 50,000 simulations, ten minutes of a bad API, a million events, outages, kills
	$(GO) test -count=1 -run 'TestSimulation$$' -timeout 60m ./transporttest/simulation -sim.seeds=50000
	$(GO) test -count=1 $(WHOLE) -run TestSimulation -timeout 60m ./lean ./stream ./e2e/faults -sim.seeds=2000
	$(GO) test -tags soak -count=1 -run TestSoak -timeout 15m -v .
	$(GO) test -tags soak -count=1 -run TestSoak -timeout 30m -v ./collector/sqlite
	$(GO) test -tags ci,soak -count=1 -run "TestAnOutage|TestAKill|TestTrackDurable" -timeout 15m -v ./e2e/faults
	$(GO) test -tags soak -count=1 -run TestTrackedEvents -timeout 30m -v ./spool
	$(GO) test -tags soak -count=1 -run TestSoak -timeout 60m -v ./stream
	CI=true $(GO) test -tags soak -count=1 -run TestOrdersAndEvents -timeout 60m -v ./outbox/test
