// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"slices"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// missingCluster is R15. What is applied in any order comes to be in the end, and the Machine waits for it.
func missingCluster(ctx context.Context, r *request, _ *part) (string, error) {
	cluster, err := r.cluster(ctx)
	if err != nil || cluster != nil {
		return "", err
	}
	return "there is no such Cluster yet: the Machine waits for it", nil
}

// leavingCluster is R15a.
func leavingCluster(ctx context.Context, r *request, _ *part) (string, error) {
	cluster, err := r.cluster(ctx)
	if err != nil || cluster == nil || cluster.DeletionTimestamp.IsZero() {
		return "", err
	}
	return "the Cluster is being deleted, and this Machine with it", nil
}

// unknownFailureDomain is R16. A Cluster that lists none may have any.
func unknownFailureDomain(ctx context.Context, r *request, _ *part) (string, error) {
	if r.now.Spec.FailureDomain == "" {
		return "", nil
	}
	cluster, err := r.cluster(ctx)
	if err != nil || cluster == nil || len(cluster.Status.FailureDomains) == 0 {
		return "", err
	}
	if slices.ContainsFunc(cluster.Status.FailureDomains, func(d clusterv1.FailureDomain) bool { return d.Name == r.now.Spec.FailureDomain }) {
		return "", nil
	}
	return "is not in status.failureDomains of the Cluster", nil
}
