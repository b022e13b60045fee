#!/usr/bin/env bash
# Copyright The Machinist Authors.
# SPDX-License-Identifier: Apache-2.0

# Shows that `make image-tarball` writes the same bytes in each clone of a commit, and a bill of materials that is true. With
# CONTAINER_ENGINE set to docker or podman it also builds the image of the Dockerfile, and shows that it is that of the tarball.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  echo "FAIL: $*"
  exit 1
}

folder=$(mktemp -d)
trap 'rm -rf "${folder}"' EXIT
arch=$(go env GOARCH)
image=machinist/manager:v1.2.3
tarball=bin/image-${arch}.tar
sbom=bin/image-${arch}.cdx.json

# Commits everything that is here, in folder $1, and always with the same hash.
clone() {
  mkdir "$1"
  git ls-files --cached --others --exclude-standard -z |
    while IFS= read -r -d '' file; do [[ ! -e "${file}" ]] || printf '%s\0' "${file}"; done |
    tar -c -f - --null -T - | tar -x -f - -C "$1"
  git -C "$1" init --quiet
  git -C "$1" add --all
  GIT_AUTHOR_DATE="1700000000 +0000" GIT_COMMITTER_DATE="1700000000 +0000" \
    git -C "$1" -c user.name=Tester -c user.email=tester@example.org -c commit.gpgsign=false commit --quiet --message=Test
}

clone "${folder}/first"
clone "${folder}/the-second"
echo "not committed" >"${folder}/the-second/note"
for at in first the-second; do
  # Go is asked to look at the checkout, which has to make no difference.
  GOFLAGS=-buildvcs=auto make --directory="${folder}/${at}" image-tarball VERSION=v1.2.3 IMG="${image}" >"${folder}/output" 2>&1 ||
    fail "make image-tarball: $(cat "${folder}/output")"
done
for file in "${tarball}" "${sbom}"; do
  cmp "${folder}/first/${file}" "${folder}/the-second/${file}" || fail "two clones of a commit give two ${file}"
done

cd "${folder}/first"
manager=bin/linux-${arch}/manager
if [[ $(go env GOOS) == linux ]]; then
  [[ $("${manager}" --version) == *v1.2.3* ]] || fail "${manager} does not know its version"
fi
# Two thirds of it are the manager. What makes it larger should be worth it.
size=$(wc -c <"${tarball}")
((size < 32 << 20)) || fail "${tarball} has ${size} bytes, expected less than 32 MiB"
for expected in \
  '"timestamp": "2023-11-14T22:13:20Z"' \
  "\"content\": \"$({ sha256sum "${manager}" 2>/dev/null || shasum -a 256 "${manager}"; } | cut -d' ' -f1)\"" \
  "\"purl\": \"pkg:golang/stdlib@$(go version "${manager}" | sed 's/.*: go//; s/ .*//')\"" \
  "\"purl\": \"pkg:golang/$(go list -m)@v1.2.3?goarch=${arch}&goos=linux\"" \
  "\"purl\": \"pkg:golang/sigs.k8s.io/controller-runtime@$(go list -m -f '{{.Version}}' sigs.k8s.io/controller-runtime)\""; do
  grep --quiet --fixed-strings "${expected}" "${sbom}" || fail "${sbom} lacks ${expected}"
done
twice=$(grep --fixed-strings '"bom-ref"' "${sbom}" | sort | uniq --repeated)
[[ -z "${twice}" ]] || fail "${sbom} has twice ${twice}"

# What an engine knows of the image $1: how it is run, what it says about itself, and its files, which go into folder $2.
describe() {
  local container
  mkdir "$2"
  container=$(${CONTAINER_ENGINE} create "$1")
  ${CONTAINER_ENGINE} export "${container}" >"$2.tar"
  ${CONTAINER_ENGINE} rm "${container}" >/dev/null
  tar -x -f "$2.tar" -C "$2"
  {
    ${CONTAINER_ENGINE} image inspect --format '{{.Os}} {{.Architecture}} {{.Config.User}} {{json .Config.Env}} {{.Config.WorkingDir}}
{{json .Config.Entrypoint}} {{json .Config.Cmd}}
{{range $name, $value := .Config.Labels}}{{$name}}={{$value}}{{"\n"}}{{end}}' "$1" | grep --invert-match io.buildah.version
    tar -t -v -f "$2.tar" | awk '{print $1, $2, $3, $6}' | sort
  } >"$2.txt"
}

if [[ -n "${CONTAINER_ENGINE:-}" ]]; then
  # The first one is there for something of it to get into the next one.
  for arguments in "REVISION=before IMG=localhost/machinist/before:v1.2.3" IMG=localhost/machinist/built:v1.2.3; do
    # shellcheck disable=SC2086 # they are words
    make image VERSION=v1.2.3 ${arguments} >"${folder}/output" 2>&1 || fail "make image: $(cat "${folder}/output")"
  done
  make image-tarball VERSION=v1.2.3 IMG=localhost/machinist/packed:v1.2.3 >/dev/null
  ${CONTAINER_ENGINE} load --quiet --input "${tarball}" >/dev/null
  for what in built packed; do
    describe "localhost/machinist/${what}:v1.2.3" "${folder}/${what}"
    ${CONTAINER_ENGINE} rmi "localhost/machinist/${what}:v1.2.3" >/dev/null
  done
  ${CONTAINER_ENGINE} rmi localhost/machinist/before:v1.2.3 >/dev/null
  diff "${folder}/built.txt" "${folder}/packed.txt" || fail "the images of the Dockerfile and of the tarball differ"
  diff --recursive "${folder}/built" "${folder}/packed" || fail "the files of the Dockerfile's image and of the tarball's differ"
  cmp "${folder}/built/manager" "${manager}" || fail "the image has another manager than what was built"
fi
echo "ok  	hack/image_test.sh${CONTAINER_ENGINE:+ with ${CONTAINER_ENGINE}}"
