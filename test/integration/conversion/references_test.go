// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/machinist-dev/machinist/apis/cluster/v1beta1"
	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// nobody finds no Machine, whatever it is looked for by.
type nobody struct{}

func (nobody) WithInfrastructure(context.Context, string, clusterv1.ContractVersionedObjectReference) ([]clusterv1.Machine, error) {
	return nil, nil
}

func (nobody) WithConfig(context.Context, string, clusterv1.ContractVersionedObjectReference) ([]clusterv1.Machine, error) {
	return nil, nil
}

func (nobody) WithProviderID(context.Context, string, string) ([]clusterv1.Machine, error) {
	return nil, nil
}

// told is what the API server has warned a client of, but that v1beta1 is deprecated.
type told []string

// HandleWarningHeader implements rest.WarningHandler.
func (t *told) HandleWarningHeader(_ int, _, text string) {
	if !strings.Contains(text, "is deprecated") {
		*t = append(*t, text)
	}
}

// judgeReferences has the API server ask about the references of the Machines in the namespace.
func judgeReferences(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(serving.ValidatingWebhooks).To(HaveLen(1))
	configuration := serving.ValidatingWebhooks[0].DeepCopy()
	for i := range configuration.Webhooks {
		configuration.Webhooks[i].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
	}
	Expect(newUser.Create(ctx, configuration)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(newUser.Delete(ctx, configuration)).To(Succeed()) })
}

var _ = It("A client of v1beta1 is told nothing about a reference that it leaves as it is, or whose version alone it changes (R9c)", func(ctx SpecContext) {
	p := newPlace(ctx)
	Expect(newUser.Create(ctx, p.newMachine("m", "OtherMachine"))).To(Succeed())
	judgeReferences(ctx, p.namespace)
	said := &told{}
	cfg := env.ConfigFor("somebody")
	cfg.QPS, cfg.WarningHandler = -1, said
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "somebody", Groups: []string{"system:masters"}} // what the manager writes is not judged
	somebody, err := client.New(cfg, client.Options{Scheme: oldUser.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() []string {
		*said = nil
		Expect(somebody.Create(ctx, p.oldMachine("probe", "OtherMachine"), client.DryRunAll)).To(Succeed())
		return *said
	}).WithContext(ctx).Should(ContainElements(HaveSuffix("(R1)"), HaveSuffix("(R11)")), "it is told what is new")

	updating := func(change func(*clusterv1beta1.Machine)) []string {
		GinkgoHelper()
		m := p.readOld(ctx, "m")
		change(m)
		*said = nil
		Expect(somebody.Update(ctx, m)).To(Succeed())
		return *said
	}
	Expect(updating(func(m *clusterv1beta1.Machine) { m.Labels = map[string]string{"a": "b"} })).To(BeEmpty())
	Expect(updating(func(m *clusterv1beta1.Machine) { m.Spec.InfrastructureRef.APIVersion = p.group + "/v7" })).To(BeEmpty())
	Expect(updating(func(m *clusterv1beta1.Machine) { m.Spec.InfrastructureRef.Kind = "ThirdMachine" })).To(ConsistOf(HaveSuffix("(R1)"), HaveSuffix("(R9a)")))
})
