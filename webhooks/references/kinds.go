// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"errors"
	"strings"

	"github.com/machinist-dev/machinist/controllers/external"
)

// missingKind is R1. Nothing can be read of such an object, neither now nor, if the kind is a mistake, ever.
func missingKind(ctx context.Context, r *request, p *part) (string, error) {
	return kindProblem(ctx, r, p, external.CRDMissing, "its kind is not installed: install the provider, or correct kind and apiGroup")
}

// kindWithoutContract is R2.
func kindWithoutContract(ctx context.Context, r *request, p *part) (string, error) {
	return kindProblem(ctx, r, p, external.ContractUnknown, "its kind has no contract label: it is no kind of a provider")
}

// kindProblem returns the text if the kind has the problem.
func kindProblem(ctx context.Context, r *request, p *part, problem external.KindProblem, text string) (string, error) {
	ref := p.reference(r.now)
	if ref == nil {
		return "", nil
	}
	_, err := r.definition(ctx, ref)
	if unusable, ok := errors.AsType[*external.KindError](err); ok {
		if unusable.Problem == problem {
			return text, nil
		}
		return "", nil
	}
	return "", err
}

// unservedVersion is R4. It passes when the provider's upgrade is complete.
func unservedVersion(ctx context.Context, r *request, p *part) (string, error) {
	scope, err := r.scope(ctx, p)
	if err != nil || scope != notServed {
		return "", err
	}
	return "the API version in its kind's contract label is not served", nil
}

// clusterScopedKind is R21.
func clusterScopedKind(ctx context.Context, r *request, p *part) (string, error) {
	scope, err := r.scope(ctx, p)
	if err != nil || scope != clusterScoped {
		return "", err
	}
	return "its kind is cluster-scoped: objects must be in the Machine's namespace", nil
}

// swappedGroup is R13. Groups are for providers to choose, so this is a guess by what is usual.
func swappedGroup(_ context.Context, r *request, p *part) (string, error) {
	ref := p.reference(r.now)
	if ref == nil {
		return "", nil
	}
	unlikely := []string{"bootstrap.", "controlplane."}
	if p == config {
		unlikely = []string{"infrastructure."}
	}
	for _, prefix := range unlikely {
		if strings.HasPrefix(ref.APIGroup, prefix) {
			return "looks like a group of " + strings.TrimSuffix(prefix, ".") + " providers: are the references swapped?", nil
		}
	}
	return "", nil
}

// sameReference is R13a.
func sameReference(_ context.Context, r *request, _ *part) (string, error) {
	if !r.now.Spec.InfrastructureRef.IsDefined() || r.now.Spec.InfrastructureRef != r.now.Spec.Bootstrap.ConfigRef {
		return "", nil
	}
	return "is the same object as infrastructureRef", nil
}

// forbiddenKind is R14. The informer of the kind would not start, and every Machine of the kind would wait for it.
func forbiddenKind(ctx context.Context, r *request, p *part) (string, error) {
	ref := p.reference(r.now)
	if ref == nil {
		return "", nil
	}
	definition, err := r.usable(ctx, ref)
	if definition == nil || err != nil {
		return "", err
	}
	missing, err := r.lookups.missingVerbs(ctx, definition.Resource().GroupResource())
	if err != nil || len(missing) == 0 {
		return "", err
	}
	return "the manager may not " + strings.Join(missing, ", ") + " it: a ClusterRole is missing", nil
}
