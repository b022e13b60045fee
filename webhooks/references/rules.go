// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
)

// severity is what a finding of a rule leads to.
type severity int

const (
	// refuse denies in mode enforce, and warns in mode warn.
	refuse severity = iota
	// refuseCreation is refuse on CREATE and advise on UPDATE.
	refuseCreation
	// advise warns in both modes.
	advise
)

func (s severity) denies(mode Mode, operation admissionv1.Operation) bool {
	return mode == Enforce && (s == refuse || s == refuseCreation && operation == admissionv1.Create)
}

// checkFunc returns what is wrong with the part, in words that hold for any Machine and stay the same; "" if nothing is.
// An error says that it could not be found out.
type checkFunc func(ctx context.Context, r *request, p *part) (problem string, err error)

// rule judges parts of a Machine, each only when it is new or has changed.
type rule struct {
	// id is what users name it by: in the annotation, in metrics and in logs. It never changes.
	id string
	// situation is what the rule is about, for the documentation.
	situation string
	parts     []*part
	// at is the field of the part that an error points at; "" is the part itself.
	at       string
	severity severity
	check    checkFunc
}

// rules are all of those about Machines at the API version of their storage, in the order in which they are reported.
var rules = []rule{
	{"R1", "the kind has no CustomResourceDefinition of the name that the contract prescribes", bothReferences, "kind", refuse, missingKind},
	{"R2", "the kind's CustomResourceDefinition declares no contract version that is supported", bothReferences, "kind", refuse, kindWithoutContract},
	{"R4", "the API version that the contract label names is not served", bothReferences, "kind", advise, unservedVersion},
	{"R6", "the object is labelled for another Cluster", bothReferences, "name", refuse, objectOfOtherCluster},
	{"R7", "the object is controlled by another Machine", bothReferences, "name", refuse, objectOfOtherMachine},
	{"R7a", "the object is controlled by a Machine that does not exist", bothReferences, "name", advise, objectOfGoneMachine},
	{"R7d", "the object is controlled by something else than a Machine, a MachineSet or the Cluster's control plane", bothReferences, "name", refuse, objectOfStranger},
	{"R8", "another Machine, which is not being deleted, has the same infrastructureRef", []*part{infrastructure}, "name", refuse, sharedInfrastructure},
	{"R8b", "another Machine, which is not being deleted, has the same configRef", []*part{config}, "name", advise, sharedConfig},
	{"R9", "infrastructureRef is changed after the machine was provisioned", []*part{infrastructure}, "", refuse, infrastructureLeft},
	{"R9a", "infrastructureRef is changed before the machine is provisioned", []*part{infrastructure}, "", advise, infrastructureMoved},
	{"R9b", "configRef is changed although there is a dataSecretName", []*part{config}, "", advise, configMoved},
	{"R10b", "dataSecretName is empty, there is no configRef, and no MachinePool owns the Machine", []*part{bootstrap}, "", advise, dataNeverComes},
	{"R10d", "configRef is removed although there is a dataSecretName", []*part{config}, "", advise, configLeft},
	{"R10e", "dataSecretName is changed or removed after it was set", []*part{dataSecret}, "", advise, dataMoved},
	{"R13", "the group of infrastructureRef looks like one of bootstrap or control plane providers, or that of configRef like one of infrastructure providers", bothReferences, "apiGroup", advise, swappedGroup},
	{"R13a", "infrastructureRef and configRef name the same object", []*part{pair}, "", refuse, sameReference},
	{"R14", "the manager lacks permissions for the kind", bothReferences, "kind", advise, forbiddenKind},
	{"R15", "the Cluster does not exist", []*part{clusterName}, "", advise, missingCluster},
	{"R15a", "the Cluster is being deleted", []*part{clusterName}, "", advise, leavingCluster},
	{"R16", "failureDomain is none of those in the Cluster's status", []*part{failureDomain}, "", advise, unknownFailureDomain},
	{"R17", "another Machine of the Cluster, which is not being deleted, has the same providerID", []*part{providerID}, "", refuseCreation, sharedProviderID},
	{"R17a", "providerID is changed or removed after the Machine found its Node", []*part{providerID}, "", advise, providerIDMoved},
	{"R21", "the kind is cluster-scoped", bothReferences, "kind", refuse, clusterScopedKind},
	{"R22", "the object is being deleted", bothReferences, "name", advise, leavingObject},
}

// olderRules are about what only API version v1beta1 has.
var olderRules = []rule{
	{"R11", "a reference in API version v1beta1 names another namespace", []*part{infrastructureNamespace, configNamespace}, "", advise, foreignNamespace},
}
