#!/usr/bin/env bash
# Copyright The Machinist Authors.
# SPDX-License-Identifier: Apache-2.0

# Prints the manifests of a flavour, or of any folder with a kustomization, as they are applied.
#
#   hack/manifests.sh FLAVOUR|FOLDER [IMAGE] [--without-crds] [--namespace=NAME]
#
# FLAVOUR is a name of docs/install.md, FOLDER is relative to config/, as in "default" or "overlays/coexist". IMAGE, with a tag
# or a digest, takes the place of the manager's image. Without CRDs it prints what may be deleted: what people have stored goes
# with its CustomResourceDefinition.
# NAME takes the place of machinist-system, for a folder that does not bring its namespace.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  echo "manifests: $*" >&2
  exit 1
}

expected="expected standalone, coexist, cert-manager, sharded, namespaced or prometheus, or a folder below config/, as in overlays/coexist"
(($# >= 1)) || fail "no flavour is given: ${expected}"
folder=${1#config/} image=${2:-} crds=true namespace=machinist-system
for option in "${@:3}"; do
  case ${option} in
  --without-crds) crds= ;;
  --namespace=*) namespace=${option#*=} ;;
  *) fail "what is ${option}? Expected --without-crds or --namespace=NAME" ;;
  esac
done
[[ ${#namespace} -le 63 && ${namespace} =~ ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$ ]] || fail "\"${namespace}\" is no name of a namespace"
case ${folder} in
standalone) folder=default ;;
coexist | cert-manager | sharded | namespaced) folder=overlays/${folder} ;;
esac
[[ -n ${folder} && -f config/${folder}/kustomization.yaml ]] || fail "there is no flavour \"$1\": ${expected}"

# kustomize reads folders relative to the file, so that has to be inside the repository.
mkdir -p bin
scratch=$(mktemp -d bin/manifests.XXXXXX)
trap 'rm -rf "${scratch}"' EXIT
{
  cat <<YAML
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
sortOptions:
  order: legacy
resources:
- ../../config/${folder}
YAML
  case ${image} in
  '') ;;
  *@*)
    printf 'images:\n- name: machinist/manager\n  newName: %s\n  digest: %s\n' "${image%%@*}" "${image#*@}"
    ;;
  *)
    # What follows a colon is a port if a slash follows it.
    [[ ${image##*/} == *:* ]] || fail "image ${image} has neither tag nor digest: what runs later would depend on when it is pulled"
    printf 'images:\n- name: machinist/manager\n  newName: %s\n  newTag: "%s"\n' "${image%:*}" "${image##*:}"
    ;;
  esac
  if [[ -z ${crds} ]]; then
    cat <<'YAML'
patches:
- target:
    kind: CustomResourceDefinition
  patch: |-
    $patch: delete
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata:
      name: all
YAML
  fi
} >"${scratch}/kustomization.yaml"

go tool -modfile=hack/tools/go.mod kustomize build --output="${scratch}/manifests.yaml" "${scratch}"
# Whoever brings a namespace takes it away in the end, with whatever else is in it.
if [[ ${namespace} != machinist-system ]] && grep -qx 'kind: Namespace' "${scratch}/manifests.yaml"; then
  fail "config/${folder} brings the namespace machinist-system, and can't be in ${namespace}: only namespaced and prometheus can"
fi
# The name stands in conditions and host names, too, where kustomize would have to be told of each.
sed "/^ *image: /!s/machinist-system/${namespace}/g" "${scratch}/manifests.yaml"
