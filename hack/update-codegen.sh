#!/usr/bin/env bash
# Copyright The Machinist Authors.
# SPDX-License-Identifier: Apache-2.0

# Writes everything that is made from the Go types in apis/, in the order in which one step needs the other. What is
# there is deleted first, so that a file whose source is gone does not survive. The output depends on nothing but the
# sources, go.mod and hack/tools/go.mod.

set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

module=$(go list -m)
header=hack/boilerplate.go.txt
api=${module}/apis/cluster/v1beta2
clients=${module}/generated

tool() {
  echo "generate: $1" >&2
  go tool -modfile=hack/tools/go.mod "$@"
}

rm -f apis/cluster/*/zz_generated.deepcopy.go
tool controller-gen object:headerFile="${header}" paths=./apis/cluster/...

rm -rf config/crd/bases
tool controller-gen crd paths=./apis/cluster/... output:crd:artifacts:config=config/crd/bases

echo "generate: applyschema" >&2
schema=$(mktemp)
trap 'rm -f "${schema}"' EXIT
go run ./hack/applyschema "${api}" config/crd/bases/*.yaml >"${schema}"

rm -rf generated/{applyconfiguration,clientset,listers,informers}
tool applyconfiguration-gen \
  --go-header-file "${header}" \
  --output-dir generated/applyconfiguration \
  --output-pkg "${clients}/applyconfiguration" \
  --openapi-schema "${schema}" \
  --external-applyconfigurations k8s.io/api/core/v1.NodeSystemInfo:k8s.io/client-go/applyconfigurations/core/v1 \
  "${api}"

tool client-gen \
  --go-header-file "${header}" \
  --input-base "${module}/apis" \
  --input cluster/v1beta2 \
  --clientset-name versioned \
  --apply-configuration-package "${clients}/applyconfiguration" \
  --output-dir generated/clientset \
  --output-pkg "${clients}/clientset"

tool lister-gen \
  --go-header-file "${header}" \
  --output-dir generated/listers \
  --output-pkg "${clients}/listers" \
  "${api}"

tool informer-gen \
  --go-header-file "${header}" \
  --versioned-clientset-package "${clients}/clientset/versioned" \
  --listers-package "${clients}/listers" \
  --output-dir generated/informers \
  --output-pkg "${clients}/informers" \
  "${api}"
