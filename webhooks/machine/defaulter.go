// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

const (
	// nodeDeletionTimeoutSeconds is for how long the Node object of a Machine that does not say is tried to be deleted.
	nodeDeletionTimeoutSeconds int32 = 10

	// versionMaxLength is MaxLength of spec.version, in characters.
	versionMaxLength = 256
)

// +kubebuilder:webhook:path=/mutate-cluster-x-k8s-io-v1beta2-machine,mutating=true,name=default.machine.cluster.x-k8s.io,groups=cluster.x-k8s.io,versions=v1beta2,resources=machines,verbs=create;update,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,admissionReviewVersions=v1

// Defaulter completes Machines when they are created and whenever they are updated, also while they are being deleted.
// It never makes an object that the API server would refuse out of one that it has stored.
type Defaulter struct{}

// Default never fails.
func (Defaulter) Default(_ context.Context, m *clusterv1.Machine) error {
	// M1. A name that can't be a label is left for the validator to refuse, if it is new.
	if len(content.IsLabelValue(m.Spec.ClusterName)) == 0 {
		metav1.SetMetaDataLabel(&m.ObjectMeta, clusterv1.ClusterNameLabel, m.Spec.ClusterName)
	}
	m.Spec.Version = prefixed(m.Spec.Version)              // M2
	if m.Spec.Deletion.NodeDeletionTimeoutSeconds == nil { // M3; 0 is for ever
		m.Spec.Deletion.NodeDeletionTimeoutSeconds = new(nodeDeletionTimeoutSeconds)
	}
	return nil
}

// prefixed returns the version with a v in front, if there is a version and room for the v.
func prefixed(version string) string {
	if version == "" || strings.HasPrefix(version, "v") || len(version) >= versionMaxLength {
		return version
	}
	return "v" + version
}
