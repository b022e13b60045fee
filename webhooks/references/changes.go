// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"

	machinewebhook "github.com/machinist-dev/machinist/webhooks/machine"
)

// infrastructureLeft is R9.
func infrastructureLeft(_ context.Context, r *request, _ *part) (string, error) {
	if r.before == nil || !provisioned(r.before) {
		return "", nil
	}
	return "is changed after provisioning: the object before, and its server, are left behind", nil
}

// infrastructureMoved is R9a.
func infrastructureMoved(_ context.Context, r *request, _ *part) (string, error) {
	if r.before == nil || provisioned(r.before) {
		return "", nil
	}
	return "is changed: the object before is left behind", nil
}

func provisioned(s *subject) bool {
	done := s.Status.Initialization.InfrastructureProvisioned
	return done != nil && *done
}

// configMoved is R9b.
func configMoved(_ context.Context, r *request, _ *part) (string, error) {
	if r.before == nil || dataSecretOf(*r.before).name == "" ||
		!r.before.Spec.Bootstrap.ConfigRef.IsDefined() || !r.now.Spec.Bootstrap.ConfigRef.IsDefined() {
		return "", nil
	}
	return "is changed, but the bootstrap data is set already; the object before is left behind", nil
}

// configLeft is R10d.
func configLeft(_ context.Context, r *request, _ *part) (string, error) {
	if r.before == nil || r.now.Spec.Bootstrap.ConfigRef.IsDefined() || !dataSecretOf(r.now).set {
		return "", nil
	}
	return "is removed: the object is left behind", nil
}

// dataNeverComes is R10b. Infrastructure providers wait for a name that isn't empty.
func dataNeverComes(_ context.Context, r *request, _ *part) (string, error) {
	data := dataSecretOf(r.now)
	if !data.set || data.name != "" || r.now.Spec.Bootstrap.ConfigRef.IsDefined() || machinewebhook.OwnedByPool(r.now.Machine) {
		return "", nil
	}
	return "is empty, and there is no configRef: the machine would wait for ever", nil
}

// dataMoved is R10e.
func dataMoved(_ context.Context, r *request, _ *part) (string, error) {
	if r.before == nil || dataSecretOf(*r.before).name == "" {
		return "", nil
	}
	return "is changed, but the machine may have booted with the data before", nil
}

// providerIDMoved is R17a.
func providerIDMoved(_ context.Context, r *request, _ *part) (string, error) {
	if r.before == nil || r.before.Spec.ProviderID == "" || !r.before.Status.NodeRef.IsDefined() {
		return "", nil
	}
	return "is changed although the Machine has its Node: the controller sets it again", nil
}

// foreignNamespace is R11. API version v1beta2 has no namespace in references, so what was written is dropped.
func foreignNamespace(_ context.Context, r *request, p *part) (string, error) {
	namespace, _ := p.value(r.now).(string)
	if namespace == "" || namespace == r.now.Namespace {
		return "", nil
	}
	return "is ignored: the object is looked for in the namespace of the Machine", nil
}
