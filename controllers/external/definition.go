// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/apis/contract"
)

// Definition is what the CustomResourceDefinition of a kind says about how its objects are read.
type Definition struct {
	Kind Kind
	// Name and UID are those of the CustomResourceDefinition.
	Name string
	UID  types.UID
	contract.Resolution
}

// Resource returns what the objects of the kind are read as. Whether the API server serves it is not known from metadata.
func (d *Definition) Resource() schema.GroupVersionResource {
	return resourceOf(d.Kind, d.Name, d.Resolution)
}

// ReadDefinition finds the CustomResourceDefinition of the kind and what its labels promise. The reader has to serve
// CRDMetadata; if that is a cache, the call waits until it is filled, or the context ends.
//
// Errors: a *KindError if there is no such definition, or it declares no contract version that we support, and whatever
// the reader returns otherwise.
func ReadDefinition(ctx context.Context, crds client.Reader, kind Kind) (*Definition, error) {
	name := contract.CRDName(kind.Group, kind.Kind)
	crd := CRDMetadata()
	err := crds.Get(ctx, client.ObjectKey{Name: name}, crd)
	switch {
	case apierrors.IsNotFound(err):
		return nil, newKindError(kind, CRDMissing, "CustomResourceDefinition %s for %s does not exist: install the provider, or correct the reference", name, kind.GroupKind)
	case err != nil:
		return nil, fmt.Errorf("CustomResourceDefinition %s can't be read: %w", name, err)
	}
	resolution, err := contract.Resolve(crd.Labels)
	if err != nil {
		return nil, newKindError(kind, ContractUnknown, "CustomResourceDefinition %s: %v", name, err)
	}
	return &Definition{Kind: kind, Name: name, UID: crd.UID, Resolution: resolution}, nil
}

func newKindError(kind Kind, problem KindProblem, format string, args ...any) *KindError {
	return &KindError{Kind: kind, Problem: problem, Message: fmt.Sprintf(format, args...)}
}
