# Two commands: `make demo` shows what weir is for, `make test` checks all of it.

GO      ?= go
BASE    ?= HEAD
FUZZTIME ?= 30s
SOAK    ?= 1m
MODULES := . tools bench/versus integration
MODULES := $(wildcard $(MODULES:%=%/go.mod))
MODULES := $(MODULES:%/go.mod=%)
# The rooms that have to work where a word is 32 bits.
SMALL   := ./bucket ./key ./gate ./ladder ./shard

.PHONY: help
help: ## explain the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | awk -F'\t' '{printf "  %-14s %s\n", $$1, $$2}'

.PHONY: demo
demo: ## the story of the four layers, on a real server (90 s)
	$(GO) run ./cmd/loadgen story

.PHONY: test
test: need lint race plain small explore nested ## everything a contributor runs

.PHONY: ci
ci: FUZZTIME = 5s
ci: test long ## what CI runs: test, and the bounded form of what takes long

.PHONY: need
need: # what the tests drive: redis-server, chromium, gcc
	@tools/need.sh

.PHONY: lint
lint: # formatting, vet, staticcheck and tidy, in every module
	@fmt=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$fmt" || { echo "gofmt wants: $$fmt"; exit 1; }
	@for m in $(MODULES); do echo "lint $$m"; \
		(cd $$m && $(GO) mod tidy -diff && if [ $$m != tools ]; then $(GO) vet ./... ; fi) || exit 1; done
	@for m in $(filter-out tools,$(MODULES)); do (cd $$m && $(GO) tool -modfile=$(CURDIR)/tools/go.mod staticcheck ./...) || exit 1; done

# What is tried again runs only the packages that failed, for the others are
# cached: a test that drives real servers in real time may meet a busy machine.
# Every failure is printed. The tests named here hold a fleet to figures per second
# of real time; they run without the race detector, which would change the figures.
REALTIME := TestTenEngines|TestServer|TestOnePrimary|TestSlotsMove|TestReplicaTakesOver|TestWhatIsLeft|TestHerd|TestScriptsAreFlushed|TestFleetShares
TRIES    := try() { for i in 1 2 3; do "$$@" && return; done; return 1; };
TRY      := $(TRIES) try

.PHONY: race
race: # every test, with the race detector
	@$(TRY) env WEIR_REDIS=must $(GO) test -race -timeout 10m -skip '$(REALTIME)' $$($(GO) list ./... | grep -v '/fleet')
	@$(TRY) env WEIR_REDIS=must $(GO) test -race -short -timeout 10m -skip '$(REALTIME)' ./fleet/... ./examples/fleet/...

.PHONY: plain
plain: # without it: exact counts of allocations, inlining, figures in real time, every benchmark once
	@$(TRY) env WEIR_REDIS=must $(GO) test -skip '$(REALTIME)' ./bucket ./key ./gate ./ladder ./shard ./engine ./policy ./weirhttp ./weirgrpc ./internal/... ./bench/... ./cmd/...
	@$(TRY) env WEIR_REDIS=must $(GO) test -count=1 -run '$(REALTIME)' ./fleet/fleetredis ./cmd/loadgen
	$(GO) test -run '^$$' -bench . -benchtime 1x ./bench

.PHONY: small
small: # the leaves on a 32-bit machine
	GOARCH=386 $(GO) vet $(SMALL)
	GOARCH=386 $(GO) test $(SMALL)

.PHONY: explore
explore: # every interleaving of the table's and the gate's words
	$(GO) test -tags explore ./internal/explore
	$(GO) test -tags explore -run Explore -timeout 20m ./shard ./gate ./engine

.PHONY: nested
nested: # the modules that keep other people's packages out of ours
	@for m in $(filter-out . tools,$(MODULES)); do echo "test $$m"; (cd $$m && $(TRY) env WEIR_REDIS=must $(GO) test ./...) || exit 1; done

.PHONY: long
long: fuzz soak ladder-server test-fleet # what takes minutes, bounded

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME (30s); a failing input is kept, so it fails every try
	@$(TRIES) for p in $$(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u); do \
		for t in $$($(GO) test -list '^Fuzz' ./$$p | grep '^Fuzz'); do echo "fuzz $$p $$t"; \
			try $(GO) test -run "^$$t$$" -fuzz "^$$t$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x ./$$p || exit 1; done; done

.PHONY: soak
soak: ## everything at once for SOAK (1m); memory flat, gauges back at zero
	WEIR_SOAK=$(SOAK) $(GO) test -run 'Soak|Storm' -timeout 0 ./engine

.PHONY: ladder-server
ladder-server: # one ladder scenario behind net/http, five times as fast
	@$(TRY) env WEIR_LADDER_REAL=1 $(GO) test -count=1 -run 'LadderIsCalm' -timeout 8m ./cmd/loadgen

.PHONY: ladder-full
ladder-full: ## all scenarios and seeds of the ladder, and three on a real server
	WEIR_LADDER_FULL=1 $(GO) test -count=1 -timeout 0 ./internal/plant
	WEIR_LADDER_FULL=1 $(GO) test -count=1 -run 'LadderIsCalm' -timeout 0 ./cmd/loadgen

.PHONY: test-fleet
test-fleet: ## the fleet on real servers that die, hang and forget (6 min)
	@$(TRY) env WEIR_FLEET=bounded WEIR_BATCHES=20000 WEIR_REDIS=must $(GO) test -timeout 15m ./fleet/...
	@cd integration && $(TRY) env WEIR_FLEET=bounded WEIR_REDIS=must $(GO) test -timeout 15m ./...

.PHONY: test-fleet-full
test-fleet-full: ## the same in full, with every figure (15 min)
	WEIR_FLEET=full WEIR_BATCHES=100000 WEIR_REDIS=must $(GO) test -count=1 -v -timeout 1h ./fleet/...
	cd integration && WEIR_FLEET=full WEIR_REDIS=must $(GO) test -count=1 -v -timeout 1h ./...

.PHONY: bench
bench: ## the gated benchmarks, and a summary
	@mkdir -p out
	$(GO) test -run '^$$' -bench . -benchmem -count 5 ./bench | tee out/bench.txt
	$(GO) run golang.org/x/perf/cmd/benchstat out/bench.txt

.PHONY: bench-gate
bench-gate: ## the benchmarks of BASE and of this tree, in turns; fails on a regression
	$(GO) run ./bench/gate -base $(BASE)

.PHONY: bench-versus
bench-versus: ## weir beside other libraries, in turns
	@mkdir -p out
	cd bench/versus && $(GO) run . -json ../../out/versus.json

.PHONY: perf-doc
perf-doc: ## measure everything and rewrite docs/perf.md (an hour, a quiet machine)
	@mkdir -p out/perf
	$(GO) run ./bench/budget -json out/perf/budget.json
	cd bench/versus && $(GO) run . -json ../../out/perf/versus.json
	$(GO) run ./bench/gate -out out/perf
	$(GO) test -run '^$$' -bench 'FourLayers/keys=1k/dist=uniform/cores=1/layers=all' -benchtime 2s -cpuprofile out/perf/cpu.prof -o out/perf/bench.test ./bench
	$(GO) tool pprof -top -nodecount 20 out/perf/bench.test out/perf/cpu.prof > out/perf/profile.txt
	$(GO) run ./bench/perfdoc

.PHONY: mutate
mutate: ## plant small faults and see the tests find them
	$(GO) run -C tools ./mutate

.PHONY: vuln
vuln: ## known vulnerabilities in what weir is built from
	@$(GO) tool -modfile=tools/go.mod govulncheck ./...; rc=$$?; case $$rc in 0) ;; 3) exit 3 ;; \
		*) echo "vuln: NOTHING WAS CHECKED: the database could not be reached (exit $$rc)" ;; esac
