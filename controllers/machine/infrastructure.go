// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/generated/facade"
)

// The limits of the Machine's CRD; lengths in characters, as the API server counts them.
const (
	maxAddresses     = 256
	maxAddressLength = 256
	maxProviderID    = 512
	maxFailureDomain = 256
)

// reconcileInfrastructure copies what the InfraMachine reports about its machine to the Machine. Nothing is copied
// before the InfraMachine has said for the first time that the machine is provisioned.
func (r *Reconciler) reconcileInfrastructure(ctx context.Context, s *scope) error {
	ref := &s.machine.Spec.InfrastructureRef
	p, err := readProvided(ctx, r.External, s, origin[facade.InfraMachine]{
		kind:          infraKind(s.machine),
		name:          ref.Name,
		conditionType: clusterv1.MachineInfrastructureReadyCondition,
		wrap:          (*external.Object).InfraMachine,
	})
	s.infra = p
	if p.missing && !s.isDeleting() && s.infrastructureProvisioned() {
		reportLostInfrastructure(s)
	}
	if err != nil || p.object == nil || p.problem != nil {
		return err
	}
	copyFailure(s, p.object, p.fields)
	s.infra.done = p.fields.Provisioned()
	providerID, _ := p.fields.ProviderID()
	if s.isDeleting() && s.machine.Spec.ProviderID == "" && utf8.RuneCountInString(providerID) <= maxProviderID {
		s.machine.Spec.ProviderID = providerID // provisioned at the last moment: there may be a Node to delete
	}
	if p.object.Deleting() || (!s.infra.done && !s.infrastructureProvisioned()) {
		return nil
	}
	if providerID == "" {
		if !s.infrastructureProvisioned() {
			s.infra.waiting += "; it is provisioned but does not report spec.providerID yet"
		}
		return nil
	}
	s.infra.problem = copyInfrastructure(s, p.fields, providerID)
	return nil
}

// copyInfrastructure copies only what the Machine's CRD accepts, as the API server would refuse the whole status
// otherwise. A value that it wouldn't accept is returned as a problem: of an address only that address is left out, of
// any other field nothing is copied.
func copyInfrastructure(s *scope, infra facade.InfraMachine, providerID string) error {
	bad := func(field, path, expected, found string) error {
		return &accessor.FieldError{
			Kind: s.machine.Spec.InfrastructureRef.Kind, Field: field, Path: path,
			ContractVersion: string(infra.ContractVersion()), Expected: expected, Found: found,
		}
	}
	if n := utf8.RuneCountInString(providerID); n > maxProviderID {
		return bad("ProviderID", ".spec.providerID", fmt.Sprintf("at most %d characters", maxProviderID), strconv.Itoa(n))
	}
	domain, hasDomain := infra.FailureDomain()
	if n := utf8.RuneCountInString(domain); n > maxFailureDomain {
		return bad("FailureDomain", ".status.failureDomain", fmt.Sprintf("at most %d characters", maxFailureDomain), strconv.Itoa(n))
	}
	legacyDomain, hasLegacyDomain := infra.DeprecatedFailureDomain()
	if n := utf8.RuneCountInString(legacyDomain); n > maxFailureDomain {
		return bad("DeprecatedFailureDomain", ".spec.failureDomain", fmt.Sprintf("at most %d characters", maxFailureDomain), strconv.Itoa(n))
	}
	reported, hasAddresses := infra.Addresses()
	addresses, problem := machineAddresses(reported, bad)
	if hasAddresses {
		s.machine.Status.Addresses = addresses
	}
	if hasLegacyDomain {
		s.machine.Spec.FailureDomain = legacyDomain
	}
	if hasDomain {
		s.machine.Status.FailureDomain = domain
	}
	s.machine.Spec.ProviderID = providerID
	s.machine.Status.Initialization.InfrastructureProvisioned = new(true)
	return problem
}

var addressTypes = []clusterv1.MachineAddressType{
	clusterv1.MachineHostName, clusterv1.MachineExternalIP, clusterv1.MachineInternalIP, clusterv1.MachineExternalDNS, clusterv1.MachineInternalDNS,
}

// machineAddresses returns the addresses that are valid, nil if none is, and what is wrong with the first other one.
func machineAddresses(reported []contract.MachineAddress, bad func(field, path, expected, found string) error) (clusterv1.MachineAddresses, error) {
	var addresses clusterv1.MachineAddresses
	var problem error
	for i, a := range reported {
		var err error
		switch {
		case i >= maxAddresses:
			err = bad("Addresses", ".status.addresses", fmt.Sprintf("at most %d items", maxAddresses), strconv.Itoa(len(reported)))
		case !slices.Contains(addressTypes, clusterv1.MachineAddressType(a.Type)):
			err = bad("Addresses", fmt.Sprintf(".status.addresses[%d].type", i), fmt.Sprintf("one of %v", addressTypes), fmt.Sprintf("%q", a.Type))
		case a.Address == "" || utf8.RuneCountInString(a.Address) > maxAddressLength:
			err = bad("Addresses", fmt.Sprintf(".status.addresses[%d].address", i), fmt.Sprintf("1 to %d characters", maxAddressLength), strconv.Itoa(utf8.RuneCountInString(a.Address)))
		default:
			addresses = append(addresses, clusterv1.MachineAddress{Type: clusterv1.MachineAddressType(a.Type), Address: a.Address})
		}
		problem = cmp.Or(problem, err)
	}
	return addresses, problem
}

// reportLostInfrastructure records, for readers of the deprecated status, that the machine was removed behind our back.
func reportLostInfrastructure(s *scope) {
	ref := s.machine.Spec.InfrastructureRef
	failure := deprecatedStatus(s.machine)
	failure.FailureReason = new(clusterv1.InvalidConfigurationMachineError)
	failure.FailureMessage = new(fmt.Sprintf("Machine infrastructure resource %s %s/%s has been deleted after provisioning was completed",
		ref.Kind, s.machine.Namespace, ref.Name))
}
