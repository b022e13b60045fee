# Everything a developer runs. Needs Go, git, make and a C compiler (for the race detector); whatever else is needed is
# built from Go modules at the versions pinned in hack/tools/go.mod and hack/controlplane/go.mod.

SHELL := /usr/bin/env bash -o errexit -o nounset -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# MACHINES is how many Machines `make run` creates.
MACHINES ?= 10
# N is how many Machines `make bench` creates, PAYLOAD how many bytes of content each of their provider objects has.
N ?= 1000
PAYLOAD ?= 20000
# PEER says whether `make bench` measures Cluster API's core manager as well.
PEER ?= true
# ARGS is passed on to the program by run, run-manager and bench, and to `go test` by test.
ARGS ?=
# VERSION is what bin/manager reports.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# KUBECTL is used by install and uninstall: yours if there is one, else one that is built from its module.
KUBECTL ?= $(shell command -v kubectl || echo '"$$(go -C hack/controlplane run ./ensure -components=kubectl)"/kubectl')

GOLANGCI_LINT := go tool -modfile=$(CURDIR)/hack/tools/go.mod golangci-lint
# Folders with a go.mod whose code we lint and test. hack/tools has none.
MODULES := . hack/controlplane test/peers test/scale

##@ General

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Code

.PHONY: generate
generate: ## Make all generated files again: deep copies, CRDs, clients, the facade and its documentation.
	hack/update-codegen.sh
	hack/update-facade.sh

.PHONY: manifests
manifests: ## Make the CRDs in config/crd, and the code that comes from the same types.
	hack/update-codegen.sh

.PHONY: fmt
fmt: ## Format the Go code.
	@$(foreach module,$(MODULES),(cd $(module) && $(GOLANGCI_LINT) fmt --config $(CURDIR)/.golangci.yml) &&) true

.PHONY: lint
lint: ## Check the Go code; .golangci.yml says for what, and why.
	@$(foreach module,$(MODULES),echo "lint: $(module)" && \
	  (cd $(module) && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml ./...) &&) true

.PHONY: lint-config
lint-config: ## Check the configuration of lint itself.
	@$(GOLANGCI_LINT) config verify && echo "lint-config: .golangci.yml is valid"

.PHONY: verify
verify: ## Fail if generated files are not up to date, or lint finds something.
	hack/verify-generated.sh
	@$(MAKE) --no-print-directory lint-config lint

##@ Tests

.PHONY: test
test: ## Run all tests with the race detector, against a real control plane. ARGS="-run X" is passed to go test.
	@hack/test.sh "$(MODULES)" $(ARGS)

.PHONY: control-plane
control-plane: ## Build or find etcd, kube-apiserver and kube-controller-manager, and print their folder.
	@go -C hack/controlplane run ./ensure

##@ Cluster

.PHONY: cluster-up
cluster-up: ## Start a Kubernetes of one node that runs pods on this machine (Linux, as root), and print its kubeconfig.
	@go run ./hack/cluster up

.PHONY: cluster-down
cluster-down: ## Stop it, and remove all that it left.
	@go run ./hack/cluster down

.PHONY: test-e2e
test-e2e: ## Take Machinist through its life on such a cluster, or on that of KUBECONFIG. ARGS="-ginkgo.v" is passed to go test.
	@[[ -n "$${KUBECONFIG:-}" ]] || MACHINIST_E2E=true go test -count=1 -timeout=60m -run='^TestUpAndDown$$' ./hack/cluster
	@MACHINIST_E2E=true go test -v -count=1 -timeout=60m ./test/e2e $(ARGS)

##@ Run

.PHONY: run
run: ## Start a control plane, the manager and simulated providers, and watch MACHINES=10 become Running.
	@go build -o bin/demo ./test/demo
	@assets=$$(go -C hack/controlplane run ./ensure) && KUBEBUILDER_ASSETS=$$assets exec bin/demo --machines=$(MACHINES) $(ARGS)

.PHONY: bench
bench: build ## Measure the manager with N=1000 Machines, and Cluster API's beside it unless PEER=false. PAYLOAD=20000 bytes.
	@KUBEBUILDER_ASSETS=$$(go -C hack/controlplane run ./ensure -components=etcd,kube-apiserver) \
	  go -C test/scale run . --machines=$(N) --payload=$(PAYLOAD) --peer=$(PEER) \
	  --json=$(CURDIR)/bin/bench/machines-$(N)-payload-$(PAYLOAD).json $(ARGS)

.PHONY: run-manager
run-manager: need-kubeconfig build ## Run the manager here, against the cluster of KUBECONFIG.
	@exec bin/manager $(ARGS)

.PHONY: build
build: ## Build bin/manager.
	CGO_ENABLED=0 go build -trimpath -ldflags "-X main.version=$(VERSION)" -o bin/manager .

.PHONY: install
install: need-kubeconfig ## Install the CRDs into the cluster of KUBECONFIG.
	$(KUBECTL) apply --server-side --filename=config/crd/bases

.PHONY: uninstall
uninstall: need-kubeconfig ## Remove the CRDs from the cluster of KUBECONFIG, and with them every Machine and Cluster there.
	$(KUBECTL) delete --ignore-not-found --filename=config/crd/bases

# Without this check a program would take whichever cluster ~/.kube/config points at.
.PHONY: need-kubeconfig
need-kubeconfig:
	@if [[ -z "$${KUBECONFIG:-}" ]]; then \
	  echo "KUBECONFIG is not set: name the kubeconfig of the cluster to use, as in KUBECONFIG=... make $(MAKECMDGOALS)" >&2; \
	  exit 1; \
	fi
