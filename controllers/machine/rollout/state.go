// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// State is what a MachineDeployment thinks of a Machine. It compares the templates of its owners, and not the Machine, as
// those who replace Machines do, too.
type State struct {
	// Current is the template of the MachineSet, which was made by Created.
	Current Template
	Created time.Time
	// Desired is the template of the MachineDeployment, and After its spec.rollout.after, zero if there is none.
	Desired Template
	After   time.Time
}

// Differences returns why the Machine is to be replaced, nil if it is not. Others look for these sentences.
func (s *State) Differences(now time.Time) []string {
	var differences []string
	add := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	have, want := &s.Current, &s.Desired
	if have.Version != want.Version {
		add("Version %s, %s required", have.Version, want.Version)
	}
	switch {
	case apiequality.Semantic.DeepEqual(have.Bootstrap, want.Bootstrap):
	case have.Bootstrap.ConfigRef.IsDefined():
		add("%s is not up-to-date", kindOf(have.Bootstrap.ConfigRef))
	default:
		add("spec.bootstrap.dataSecretName %s, %s required", nameOf(have.Bootstrap), nameOf(want.Bootstrap))
	}
	if have.InfrastructureRef != want.InfrastructureRef {
		add("%s is not up-to-date", kindOf(have.InfrastructureRef))
	}
	if have.FailureDomain != want.FailureDomain {
		add("Failure domain %s, %s required", have.FailureDomain, want.FailureDomain)
	}
	if !s.After.IsZero() && s.After.Before(now) && s.Created.Before(s.After) {
		add("MachineDeployment spec.rolloutAfter expired")
	}
	return differences
}

// Due returns the time after which the differences may be others although nothing changes; 0 is never.
func (s *State) Due(now time.Time) time.Duration {
	if s.After.IsZero() || s.After.Before(now) || !s.Created.Before(s.After) {
		return 0
	}
	return s.After.Sub(now) + time.Millisecond // it must have passed
}

// kindOf returns the kind of what is made from a template.
func kindOf(template clusterv1.ContractVersionedObjectReference) string {
	return strings.TrimSuffix(template.Kind, clusterv1.TemplateSuffix)
}

func nameOf(bootstrap clusterv1.Bootstrap) string {
	if bootstrap.DataSecretName == nil {
		return "nil"
	}
	return *bootstrap.DataSecretName
}
