// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
)

func controlPlaneRef(c *clusterv1.Cluster) {
	c.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "SimControlPlane", Name: "c"}
}

var _ = Describe("The control plane object", func() {
	DescribeTable("is asked", func(s *scope, asked bool) {
		Expect(s.asksControlPlane()).To(Equal(asked))
	},
		Entry("when a Machine goes that has a Node", having(deletingSince(0), cluster(controlPlaneRef)), true),
		Entry("not when the Machine stays", having(cluster(controlPlaneRef)), false),
		Entry("not when there is no Node", knowing(deletingSince(0), cluster(controlPlaneRef)), false),
		Entry("not when the Cluster has none", having(deletingSince(0)), false),
		Entry("not when the Cluster goes", having(deletingSince(0), cluster(controlPlaneRef), cluster(func(c *clusterv1.Cluster) { c.DeletionTimestamp = new(ago(time.Minute)) })), false),
		Entry("not when the Cluster is gone", having(deletingSince(0), noCluster), false),
	)

	// What it says when it can be read is in test/integration.
	unreadable := func(problem external.KindProblem) error { return &external.KindError{Problem: problem, Message: "no"} }
	DescribeTable("that can't be read", func(err error, known, retry bool) {
		says, err := readControlPlane(external.Kind{Role: external.ControlPlane}, nil, err)
		Expect(says).To(Equal(controlPlaneSilent))
		Expect(err == nil).To(Equal(known))
		Expect(retriable(err) != nil).To(Equal(retry))
	},
		Entry("says nothing if it does not exist", fmt.Errorf("wrapped: %w", apierrors.NewNotFound(schema.GroupResource{}, "c")), true, false),
		Entry("says nothing if its kind is not installed", unreadable(external.CRDMissing), true, false),
		Entry("is waited for if its kind has no contract version", unreadable(external.ContractUnknown), false, false),
		Entry("is waited for if its kind can't be listed", unreadable(external.NotSynced), false, false),
		Entry("is asked again after any other error", errors.New("timeout"), false, true),
	)
})
