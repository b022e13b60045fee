#!/usr/bin/env bash
# Copyright The Machinist Authors.
# SPDX-License-Identifier: Apache-2.0

# Makes all generated files again, and fails if that changes anything: a file that is stale, missing, or extra. It compares
# the work tree with itself, so it does not matter what is committed; in a fresh clone the two are the same.
#
# generated/ is deleted first. The files of a kind that is gone would survive otherwise, since no generator knows of them.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
trap 'rm -rf "${scratch}"' EXIT

# tree prints the id of a git tree with all files as they are now, untracked ones as well. The real index is not touched.
tree() {
  cp "$(git rev-parse --git-path index)" "${scratch}/index"
  GIT_INDEX_FILE=${scratch}/index git add --all
  GIT_INDEX_FILE=${scratch}/index git write-tree
}

before=$(tree)
rm -rf generated
if ! make --no-print-directory generate >&2; then
  echo "FAIL: make generate failed, and generated/ is deleted or incomplete; mend the cause and run make generate" >&2
  exit 1
fi
after=$(tree)

if [[ "${before}" == "${after}" ]]; then
  echo "generated files are up to date" >&2
  exit 0
fi
git --no-pager diff "${before}" "${after}" | head -n 200 >&2
cat >&2 <<MESSAGE

FAIL: these files are not what make generate makes (D: extra, and deleted now; A: missing; M: stale):
$(git diff --name-status "${before}" "${after}")
The files have been made again in place: look at the difference, and commit it if it is what you mean.
MESSAGE
exit 1
