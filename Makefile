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
# IMG is the manager's image, ARCH the architecture that it is built for: amd64 or arm64.
IMG ?= machinist/manager:$(VERSION)
ARCH ?= $(shell go env GOARCH)
# OVERLAY is what deploy and undeploy apply: one of FLAVOURS, or a folder below config/.
OVERLAY ?= standalone
# NAMESPACE is where Machinist is installed, for namespaced and prometheus. The other flavours bring theirs. It is not
# taken from the environment, where a variable of this name may be about something else.
NAMESPACE := machinist-system
# FLAVOURS are what release writes. hack/manifests.sh knows their folders.
FLAVOURS := standalone coexist cert-manager sharded namespaced prometheus
# DIST is the folder that release writes into.
DIST ?= dist
# CONTAINER_ENGINE is what image uses: docker or podman.
CONTAINER_ENGINE ?= $(shell command -v docker || command -v podman || echo docker)
# KUBECTL is used by install, deploy and their opposites: yours if there is one, else one that is built from its module.
KUBECTL ?= $(shell command -v kubectl || echo '"$$(go -C hack/controlplane run ./ensure -components=kubectl)"/kubectl')

GOLANGCI_LINT := go tool -modfile=$(CURDIR)/hack/tools/go.mod golangci-lint
# Folders with a go.mod whose code we lint and test. hack/tools has none, and to lint test/e2e/certmanager, which is one file,
# all of cert-manager would have to be compiled once more.
MODULES := . hack/controlplane hack/image test/peers test/promql test/scale

##@ General

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*## / {printf "  %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Code

.PHONY: generate
generate: ## Make all generated files again: deep copies, CRDs, clients, the facade and its documentation, webhooks.
	hack/update-codegen.sh
	hack/update-facade.sh
	hack/update-manifests.sh

.PHONY: manifests
manifests: ## Make the CRDs in config/crd and the code that comes from the same types, and the webhooks in config/webhook.
	hack/update-codegen.sh
	hack/update-manifests.sh

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
	@exec bin/manager --webhook-port=0 $(ARGS)

.PHONY: build
build: ## Build bin/manager.
	CGO_ENABLED=0 go build -trimpath -ldflags "-X main.version=$(VERSION)" -o bin/manager .

##@ Deploy

# Refuses what would end half done, or leave something half working, before anything is changed. Built as `build` does it, so that
# there is little to compile. It is given KUBECTL after env, as that may begin with variables: KUBECTL="HTTPS_PROXY=... kubectl".
PREFLIGHT = CGO_ENABLED=0 go run -trimpath ./hack/preflight

# Without symbols: the image has no debugger. Without what Go finds out about the checkout: VERSION says it, and a commit gives the
# same bytes in every clone. Both images below are made of this file.
bin/linux-$(ARCH)/manager: FORCE
	CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)" -o $@ .

.PHONY: FORCE
FORCE:

# What both images say about themselves besides VERSION: the commit, and its time in seconds.
REVISION = $(shell git rev-parse HEAD 2>/dev/null)
CREATED = $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
PACK = go -C hack/image run . -binary=$(CURDIR)/bin/linux-$(ARCH)/manager -arch=$(ARCH) -version=$(VERSION) \
  -revision=$(REVISION) -created=$(CREATED)

# BUILDAH_LAYERS=false, as podman would use again the layer with the labels of the commit before.
.PHONY: image
image: bin/linux-$(ARCH)/manager ## Build the image IMG with docker or podman, for ARCH=amd64 or arm64.
	@$(PACK) -rootfs=$(CURDIR)/bin/linux-$(ARCH)/rootfs.tar
	SOURCE_DATE_EPOCH=$(CREATED) BUILDAH_LAYERS=false $(CONTAINER_ENGINE) build --platform linux/$(ARCH) --build-arg TARGETARCH=$(ARCH) \
	  --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) --tag $(IMG) .

.PHONY: image-tarball
image-tarball: bin/linux-$(ARCH)/manager ## Build bin/image-ARCH.tar, of image IMG, without a container engine, and its bill of materials.
	@$(PACK) -tag=$(IMG) -output=$(CURDIR)/bin/image-$(ARCH).tar -sbom=$(CURDIR)/bin/image-$(ARCH).cdx.json

.PHONY: render
render: ## Print what deploy applies, for IMG, OVERLAY and NAMESPACE.
	@hack/manifests.sh "$(OVERLAY)" "$(IMG)" --namespace="$(NAMESPACE)"

.PHONY: install
install: need-kubeconfig ## Install the CRDs into the cluster of KUBECONFIG. They don't serve v1beta1; those of deploy do.
	@cat config/crd/bases/*.yaml | $(PREFLIGHT) install env $(KUBECTL)
	$(KUBECTL) apply --server-side --filename=config/crd/bases

.PHONY: uninstall
uninstall: need-kubeconfig ## Remove the CRDs from the cluster of KUBECONFIG, and with them every Machine and Cluster there.
	@cat config/crd/bases/*.yaml | $(PREFLIGHT) uninstall env $(KUBECTL)
	$(KUBECTL) delete --ignore-not-found --filename=config/crd/bases

# What is in the manifests is what there is to be, so --force-conflicts; what they don't say stays as the manager has set it.
.PHONY: deploy
deploy: need-kubeconfig ## Install, or upgrade, OVERLAY with image IMG: standalone, coexist, cert-manager, sharded, namespaced in NAMESPACE, prometheus.
	@manifests=$$(hack/manifests.sh "$(OVERLAY)" "$(IMG)" --namespace="$(NAMESPACE)"); \
	  $(PREFLIGHT) deploy env $(KUBECTL) <<<"$$manifests"; \
	  echo "Installing $(OVERLAY) with image $(IMG)"; \
	  $(KUBECTL) apply --server-side --force-conflicts --filename=- <<<"$$manifests"

# What is stored must stay readable without the manager, which has converted it: the CRDs lose their conversion first, but for
# those that clusterctl has made Cluster API's since. Nothing is changed before all that is to be deleted is known.
.PHONY: undeploy
undeploy: need-kubeconfig ## Remove what deploy has installed, by its OVERLAY and NAMESPACE, but for the CRDs and what is stored; uninstall removes those.
	@all=$$(hack/manifests.sh "$(OVERLAY)" "$(IMG)" --namespace="$(NAMESPACE)"); \
	  manifests=$$($(PREFLIGHT) undeploy env $(KUBECTL) <<<"$$all"); \
	  [[ "$$all" != *"kind: CustomResourceDefinition"* ]] || \
	  for crd in config/crd/bases/*.yaml; do \
	    found=$$($(KUBECTL) get --ignore-not-found --output=name --selector='cluster.x-k8s.io/provider!=cluster-api' --filename="$$crd"); \
	    [[ -z "$$found" ]] || $(KUBECTL) replace --filename="$$crd"; \
	  done; \
	  $(KUBECTL) delete --ignore-not-found --filename=- <<<"$$manifests"

.PHONY: release
release: committed release-manifests ## Write what release-manifests does, and the image's bills of materials, for amd64 and arm64.
	@for arch in amd64 arm64; do \
	  $(MAKE) --no-print-directory image-tarball ARCH="$$arch"; \
	  cp "bin/image-$$arch.cdx.json" "$(DIST)"; \
	done

# A release can be made again from its commit.
.PHONY: committed
committed:
	@git diff --quiet HEAD || { echo "There are changes that are not committed: commit them, or make release-manifests to try" >&2; exit 1; }

.PHONY: release-manifests
release-manifests: ## Write install-*.yaml and uninstall-*.yaml of each flavour, with the image IMG, and crds.yaml into DIST=dist.
	@[[ "$(VERSION)" =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$$ && "$(VERSION)" != *-dirty ]] || \
	  { echo "VERSION is $(VERSION), expected one such as v1.2.3: VERSION=v1.2.3 make release" >&2; exit 1; }
	@mkdir -p "$(DIST)"
	@for flavour in $(FLAVOURS); do \
	  hack/manifests.sh "$$flavour" $(IMG) >"$(DIST)/part"; \
	  mv "$(DIST)/part" "$(DIST)/install-$$flavour.yaml"; \
	  hack/manifests.sh "$$flavour" $(IMG) --without-crds >"$(DIST)/part"; \
	  mv "$(DIST)/part" "$(DIST)/uninstall-$$flavour.yaml"; \
	done
	@hack/manifests.sh crd >"$(DIST)/part"
	@mv "$(DIST)/part" "$(DIST)/crds.yaml"
	@echo "$(DIST): $$(cd "$(DIST)" && echo *.yaml)"

# Without this check a program would take whichever cluster ~/.kube/config points at.
.PHONY: need-kubeconfig
need-kubeconfig:
	@if [[ -z "$${KUBECONFIG:-}" ]]; then \
	  echo "KUBECONFIG is not set: name the kubeconfig of the cluster to use, as in KUBECONFIG=... make $(MAKECMDGOALS)" >&2; \
	  exit 1; \
	fi
