#!/usr/bin/env bash
# Copyright The Machinist Authors.
# SPDX-License-Identifier: Apache-2.0

# Writes config/rbac/role.yaml from the markers in controllers/, and config/webhook/manifests.yaml from those in webhooks/.
# It comes last: controller-gen has to find every package that these import, and some of those are generated.

set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

rm -f config/rbac/role.yaml config/webhook/manifests.yaml
echo "generate: controller-gen rbac" >&2
go tool -modfile=hack/tools/go.mod controller-gen rbac:roleName=manager-role paths=./controllers/... output:rbac:artifacts:config=config/rbac
echo "generate: controller-gen webhook" >&2
go tool -modfile=hack/tools/go.mod controller-gen webhook paths=./webhooks/... output:webhook:artifacts:config=config/webhook
