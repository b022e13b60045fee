#!/usr/bin/env bash
# Copyright The Machinist Authors.
# SPDX-License-Identifier: Apache-2.0

# Shows that hack/verify-generated.sh fails on a stale, an extra and a missing file, and names each; and that it passes
# once they are mended. Works on a copy.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

copy=$(mktemp -d)
trap 'rm -rf "${copy}"' EXIT
git ls-files --cached --others --exclude-standard -z |
  while IFS= read -r -d '' file; do [[ ! -e "${file}" ]] || printf '%s\0' "${file}"; done |
  tar -c --null -T - | tar -x -C "${copy}"
cd "${copy}"
git init --quiet
git add --all

stale=$(git ls-files 'generated/facade/*.go' | head -n 1)
missing=$(git ls-files 'generated/listers/*.go' | head -n 1)
manifest=config/webhook/manifests.yaml
echo '// a line by hand' >>"${stale}"
echo '# a line by hand' >>"${manifest}"
rm "${missing}"
echo 'package facade' >generated/facade/zz_untracked.go
mkdir generated/oldclient
echo 'package oldclient' >generated/oldclient/zz_tracked.go
git add generated/oldclient

if hack/verify-generated.sh 2>output; then
  cat output
  echo "FAIL: hack/verify-generated.sh passed although files were stale, extra and missing"
  exit 1
fi
for line in "M	${stale}" "M	${manifest}" "A	${missing}" "D	generated/facade/zz_untracked.go" "D	generated/oldclient/zz_tracked.go"; do
  if ! grep --quiet --fixed-strings --line-regexp "${line}" output; then
    cat output
    echo "FAIL: hack/verify-generated.sh does not report \"${line}\""
    exit 1
  fi
done
rm output
if ! output=$(hack/verify-generated.sh 2>&1); then
  echo "${output}"
  echo "FAIL: hack/verify-generated.sh fails although everything has just been generated"
  exit 1
fi
echo "ok  	hack/verify-generated.sh"
