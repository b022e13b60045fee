// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package watchcache

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var name = metav1.ObjectMeta{Namespace: "ns", Name: "n"}

var _ = Describe("A guarded client", func() {
	var patch client.Patch

	DescribeTable("refuses to write what a cache has trimmed",
		func(ctx SpecContext, object client.Object) {
			sent := &sent{}
			c := Guard(sent)
			for _, err := range []error{
				c.Update(ctx, object), c.Status().Update(ctx, object), c.SubResource("scale").Update(ctx, object),
				c.Patch(ctx, object, patch), c.Status().Patch(ctx, object, patch), c.SubResource("scale").Patch(ctx, object, patch),
			} {
				Expect(err).To(MatchError(ContainSubstring("ns/n refused")))
			}
			Expect(sent.writes).To(BeEmpty())
		},
		Entry("Cluster", &clusterv1.Cluster{ObjectMeta: name}),
		Entry("Node", &corev1.Node{ObjectMeta: name}),
		Entry("metadata", &metav1.PartialObjectMetadata{ObjectMeta: name}),
		Entry("any kind", &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "ns", "name": "n"}}}),
	)

	It("refuses to update a Machine, and patches it", func(ctx SpecContext) {
		sent := &sent{}
		c := Guard(sent)
		machine := &clusterv1.Machine{ObjectMeta: name}
		Expect(c.Update(ctx, machine)).NotTo(Succeed())
		Expect(c.Status().Update(ctx, machine)).NotTo(Succeed())
		Expect(sent.writes).To(BeEmpty())
		Expect(c.Patch(ctx, machine, patch)).To(Succeed())
		Expect(c.Status().Patch(ctx, machine, patch)).To(Succeed())
		Expect(sent.writes).To(Equal([]string{"patch", "patch status"}))
	})
})

// sent records patches; it would panic at anything else.
type sent struct {
	client.Client
	writes []string
}

func (s *sent) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	s.writes = append(s.writes, "patch")
	return nil
}

func (s *sent) SubResource(name string) client.SubResourceClient {
	return &sentSubResource{sent: s, name: name}
}

type sentSubResource struct {
	client.SubResourceClient
	sent *sent
	name string
}

func (s *sentSubResource) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	s.sent.writes = append(s.sent.writes, "patch "+s.name)
	return nil
}
