#!/usr/bin/env bash
# Copyright The Machinist Authors.
# SPDX-License-Identifier: Apache-2.0

# Shows that each import rule of .golangci.yml bites: a file that breaks it is found, by that rule. Shows also that tests
# may import what only tests may. A rule without a line here fails.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ours=github.com/machinist-dev/machinist
linter=$(go tool -n -modfile=hack/tools/go.mod golangci-lint)
tree=$(mktemp -d)
trap 'rm -rf "${tree}"' EXIT
cp go.mod go.sum .golangci.yml "${tree}"

# imports writes a file that imports a package.
imports() {
  local file=${tree}/$1 package=$2
  mkdir -p "$(dirname "${file}")"
  printf 'package x\n\nimport _ "%s"\n' "${package}" >"${file}"
}

# breaks writes a file that breaks the rule by importing a package.
expected=()
breaks() {
  local rule=$1 file=$2 package=$3
  imports "${file}" "${package}"
  expected+=("${file}: import '${package}' is not allowed from list '${rule}'")
}

breaks apis apis/cluster/v1beta2/a.go k8s.io/client-go/rest
breaks apis apis/contract/a.go ${ours}/generated/facade
breaks accessor apis/contract/accessor/a.go ${ours}/apis/contract
breaks facadegen hack/facadegen/a.go ${ours}/apis/contract
breaks generated generated/clientset/a.go sigs.k8s.io/controller-runtime/pkg/client
breaks generated generated/listers/a.go ${ours}/controllers/external
breaks facade generated/facade/a.go k8s.io/client-go/rest
breaks facade generated/facadetest/a.go sigs.k8s.io/controller-runtime/pkg/client
breaks controller-parts controllers/watchcache/a.go ${ours}/controllers/external
breaks controller-parts controllers/external/a.go ${ours}/controllers/machine
breaks controller-parts controllers/status/a.go ${ours}/controllers/external
breaks workload controllers/workload/a.go ${ours}/controllers/external
breaks machine-controller controllers/machine/a.go ${ours}/generated/clientset/versioned
breaks machine-controller controllers/machine/drain/a.go ${ours}/webhooks/machine
breaks webhooks webhooks/references/a.go ${ours}/controllers/machine
breaks pure-webhooks webhooks/machine/b.go sigs.k8s.io/controller-runtime/pkg/client
breaks pure-webhooks webhooks/machinedrainrule/a.go ${ours}/controllers/external
breaks main main.go ${ours}/hack/facadegen
breaks tests-only controllers/a.go ${ours}/test/environment
breaks tests-only controllers/external/b.go ${ours}/generated/facadetest
breaks control-plane hack/controlplane/ensure/a.go k8s.io/klog/v2
breaks cluster hack/cluster/a.go k8s.io/klog/v2
breaks everywhere controllers/machine/b.go sigs.k8s.io/cluster-api/api/core/v1beta2
breaks everywhere test/simulator/a.go sort
breaks everywhere cmd/a.go k8s.io/utils/ptr

# What must not be found.
imports controllers/external/a_test.go ${ours}/generated/facadetest
imports controllers/machine/a_test.go ${ours}/test/environment/suite
imports apis/contract/a_test.go ${ours}/generated/facade
imports test/demo/a.go ${ours}/test/environment
imports test/peers/a.go sigs.k8s.io/cluster-api/api/core/v1beta2
imports controllers/machine/c.go ${ours}/generated/applyconfiguration/cluster/v1beta2
imports controllers/machine/d.go ${ours}/generated/facade
allowed='(_test\.go|test/demo/a\.go|test/peers/a\.go|machine/[cd]\.go):'

cd "${tree}"
"${linter}" run --enable-only=depguard --max-issues-per-linter=0 --max-same-issues=0 \
  ./... >findings 2>&1 || true
# FILE:LINE:COLUMN: MESSAGE becomes FILE: MESSAGE.
sed -E 's/^([^:]+):[0-9]+:[0-9]+:/\1:/' findings >output

failed=0
for line in "${expected[@]}"; do
  if ! grep --quiet --fixed-strings "${line}" output; then
    echo "FAIL: not found: ${line}"
    failed=1
  fi
done
if grep --extended-regexp "${allowed}.*depguard" output; then
  echo "FAIL: the imports above are allowed"
  failed=1
fi
for rule in $(awk '/^    depguard:/ {on = 1} /^  exclusions:/ {on = 0} on && /^        [a-z-]+:$/ {sub(":", ""); print $1}' .golangci.yml); do
  if [[ "${expected[*]}" != *"from list '${rule}'"* ]]; then
    echo "FAIL: no line of this test shows that rule ${rule} of .golangci.yml bites"
    failed=1
  fi
done
if ((failed)); then
  exit 1
fi
echo "ok  	import rules of .golangci.yml"
