#!/usr/bin/env bash
# Copyright The Machinist Authors.
# SPDX-License-Identifier: Apache-2.0

# Rebuilds what facade-gen makes: generated/facade, generated/facadetest and docs/contract.md, and the same for the
# example contract.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

facade_gen() { go run ./hack/facadegen/cmd/facade-gen "$@"; }

rm -rf generated/facade generated/facadetest
facade_gen 'facade:headerFile=hack/boilerplate.go.txt,table=../docs/contract.md,title="The provider contract"' \
  paths=./apis/contract output:dir=generated

rm -rf examples/contract/facade examples/contract/facadetest
facade_gen facade:headerFile=hack/boilerplate.go.txt \
  paths=./examples/contract/loadbalancer output:dir=examples/contract
