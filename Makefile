# Two commands: `make demo` shows what weir is for, `make test` checks all of it.

GO      ?= go
BASE    ?= HEAD
FUZZTIME ?= 30s
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
ci: test long ## what CI runs: test, and the bounded form of what takes long

.PHONY: need
need: # what the tests drive: redis-server, chromium, gcc
	@tools/need.sh

.PHONY: lint
lint: # formatting, vet, staticcheck and tidy, in every module
	@fmt=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$fmt" || { echo "gofmt wants: $$fmt"; exit 1; }
	@for m in $(MODULES); do echo "lint $$m"; \
		(cd $$m && $(GO) mod tidy -diff && if [ $$m != tools ]; then $(GO) vet ./... ; fi) || exit 1; done
	$(GO) tool -modfile=tools/go.mod staticcheck ./...

.PHONY: race
race: # every test, with the race detector
	$(GO) test -race ./...

.PHONY: plain
plain: # without it: exact counts of allocations, inlining, timing-free benchmarks once
	$(GO) test ./bucket ./key ./gate ./ladder ./shard ./engine ./policy ./weirhttp ./weirgrpc ./internal/...
	$(GO) test -run '^$$' -bench . -benchtime 1x ./bench

.PHONY: small
small: # the leaves on a 32-bit machine
	GOARCH=386 $(GO) vet $(SMALL)
	GOARCH=386 $(GO) test $(SMALL)

.PHONY: explore
explore: # every interleaving of the table's and the gate's words
	$(GO) test -tags explore ./internal/explore ./shard ./gate

.PHONY: nested
nested: # the modules that keep other people's packages out of ours
	@for m in $(filter-out . tools,$(MODULES)); do echo "test $$m"; (cd $$m && $(GO) test ./...) || exit 1; done

.PHONY: long
long: fuzz soak ladder-server test-fleet ## the bounded form of the long parts
