// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"unicode/utf8"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/generated/facade"
)

// maxSecretName is the number of characters that the Machine's CRD accepts.
const maxSecretName = 253

// reconcileBootstrap copies the name of the bootstrap data secret from the BootstrapConfig to the Machine, once: a name
// that is set, by whomever, is never changed again.
func (r *Reconciler) reconcileBootstrap(ctx context.Context, s *scope) error {
	ref := s.machine.Spec.Bootstrap.ConfigRef
	given := s.machine.Spec.Bootstrap.DataSecretName != nil
	if given {
		s.machine.Status.Initialization.BootstrapDataSecretCreated = new(true)
	}
	if !ref.IsDefined() {
		return nil
	}
	p, err := readProvided(ctx, r.External, s, origin[facade.BootstrapConfig]{
		kind:          bootstrapKind(s.machine),
		name:          ref.Name,
		conditionType: clusterv1.MachineBootstrapConfigReadyCondition,
		wrap:          (*external.Object).BootstrapConfig,
	})
	s.bootstrap = p
	if err != nil || p.object == nil || p.problem != nil {
		return err
	}
	copyFailure(s, p.object, p.fields)
	s.bootstrap.done = p.fields.DataSecretCreated()
	if given || p.object.Deleting() || !s.bootstrap.done {
		return nil
	}
	name, ok := p.fields.DataSecretName()
	if !ok || name == "" {
		s.bootstrap.problem = emptyDataSecretName(ref.Kind, p.object, ok)
		return nil
	}
	if length := utf8.RuneCountInString(name); length > maxSecretName {
		s.bootstrap.problem = &accessor.FieldError{
			Kind: ref.Kind, Field: "DataSecretName", Path: ".status.dataSecretName", ContractVersion: string(p.object.ContractVersion()),
			Expected: fmt.Sprintf("at most %d characters", maxSecretName), Found: fmt.Sprintf("%d", length),
		}
		return nil
	}
	s.machine.Spec.Bootstrap.DataSecretName = &name
	s.machine.Status.Initialization.BootstrapDataSecretCreated = new(true)
	return nil
}

// emptyDataSecretName says that the object claims to have created a secret and doesn't name it.
func emptyDataSecretName(kind string, object *external.Object, present bool) error {
	found := "no value"
	if present {
		found = `""`
	}
	return &accessor.FieldError{
		Kind: kind, Field: "DataSecretName", Path: ".status.dataSecretName", ContractVersion: string(object.ContractVersion()),
		Expected: "a name, as the data secret is reported to be created", Found: found,
	}
}
