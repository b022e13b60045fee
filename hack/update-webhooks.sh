#!/usr/bin/env bash
# Copyright The Machinist Authors.
# SPDX-License-Identifier: Apache-2.0

# Writes config/webhook/manifests.yaml from the markers in webhooks/. It comes last: controller-gen has to find every
# package that a webhook imports, and some of those are generated.

set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

echo "generate: controller-gen webhook" >&2
rm -f config/webhook/manifests.yaml
go tool -modfile=hack/tools/go.mod controller-gen webhook paths=./webhooks/... output:webhook:artifacts:config=config/webhook
