#!/usr/bin/env bash
# Copyright The Machinist Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs all tests: those of each module, and those of the scripts in this folder. It goes on after a failure, and its last
# line tells the result.
#
#   hack/test.sh "MODULE-FOLDER ..." [GO-TEST-FLAG ...]
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

read -ra modules <<<"$1"
shift
failed=()

KUBEBUILDER_ASSETS=$(go -C hack/controlplane run ./ensure)
export KUBEBUILDER_ASSETS

for module in "${modules[@]}"; do
  # test/peers compares data in one goroutine: the race detector finds nothing there and takes minutes. Its cache must not
  # be used, as it does not notice changes of our CRD files, which are outside that module.
  flags=(-race)
  [[ "${module}" == test/peers ]] && flags=(-count=1)
  # The same goes for the Dockerfile, which is outside this one.
  [[ "${module}" == hack/image ]] && flags+=(-count=1)
  # It has no tests of its own: this compiles the program that other tests build, as they do, without the race detector.
  [[ "${module}" == test/promql ]] && flags=(-count=1)
  echo "== ${module}: go test ${flags[*]} $*"
  go -C "${module}" test "${flags[@]}" -timeout=30m "$@" ./... | { grep --invert-match 'no test files' || true; } ||
    failed+=("${module}")
done
for script in hack/*_test.sh; do
  echo "== ${script}"
  "${script}" || failed+=("${script}")
done

if ((${#failed[@]} > 0)); then
  echo "FAIL: ${failed[*]} ($((SECONDS / 60))m$((SECONDS % 60))s)"
  exit 1
fi
echo "PASS: ${modules[*]} ($((SECONDS / 60))m$((SECONDS % 60))s)"
