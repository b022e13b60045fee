// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// sharedInfrastructure is R8. Two Machines with one server have one providerID, and nobody could tell whose Node it is. Of
// two that are created at the same time neither is found here; the controller gives the object to one of them.
func sharedInfrastructure(ctx context.Context, r *request, p *part) (string, error) {
	ref := p.reference(r.now)
	if ref == nil {
		return "", nil
	}
	return r.another(ctx, "is referenced by another Machine", anyMachine, func(ctx context.Context) ([]clusterv1.Machine, error) {
		return r.lookups.machines.WithInfrastructure(ctx, r.now.Namespace, ref.ContractVersionedObjectReference)
	})
}

// sharedConfig is R8b.
func sharedConfig(ctx context.Context, r *request, p *part) (string, error) {
	ref := p.reference(r.now)
	if ref == nil {
		return "", nil
	}
	return r.another(ctx, "is referenced by another Machine", anyMachine, func(ctx context.Context) ([]clusterv1.Machine, error) {
		return r.lookups.machines.WithConfig(ctx, r.now.Namespace, ref.ContractVersionedObjectReference)
	})
}

// sharedProviderID is R17.
func sharedProviderID(ctx context.Context, r *request, _ *part) (string, error) {
	if r.now.Spec.ProviderID == "" {
		return "", nil
	}
	ofCluster := func(m *clusterv1.Machine) bool { return m.Spec.ClusterName == r.now.Spec.ClusterName }
	return r.another(ctx, "is that of another Machine of the Cluster", ofCluster, func(ctx context.Context) ([]clusterv1.Machine, error) {
		return r.lookups.machines.WithProviderID(ctx, r.now.Namespace, r.now.Spec.ProviderID)
	})
}

func anyMachine(*clusterv1.Machine) bool { return true }

// another returns the text if one of the Machines found counts and is neither this one nor being deleted. Of several it
// names the one whose name is first, so that the text is the same the next time.
func (r *request) another(ctx context.Context, text string, counts func(*clusterv1.Machine) bool, find func(context.Context) ([]clusterv1.Machine, error)) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	machines, err := find(bounded)
	if err != nil {
		return "", err
	}
	name := ""
	for i := range machines {
		m := &machines[i]
		if m.Name != r.now.Name && m.DeletionTimestamp.IsZero() && counts(m) && (name == "" || m.Name < name) {
			name = m.Name
		}
	}
	if name == "" {
		return "", nil
	}
	if r.mayGetMachine(ctx, name) {
		text += ": " + name
	}
	return text, nil
}
