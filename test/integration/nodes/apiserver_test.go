// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/environment"
)

// joinOwnControlPlane makes the API server of the suite the workload cluster of a place: one that validates, and that has
// its own mind about patches. It adds a Machine and returns its Node.
func joinOwnControlPlane(ctx context.Context, p *place) *corev1.Node {
	GinkgoHelper()
	kubeconfig, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"own": {Server: env.Config.Host, CertificateAuthorityData: env.Config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"own": {ClientCertificateData: env.Config.CertData, ClientKeyData: env.Config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{"own": {Cluster: "own", AuthInfo: "own"}},
		CurrentContext: "own",
	})
	Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "blue-kubeconfig"}}
	Eventually(func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(secret), secret) }).WithContext(ctx).Should(Succeed())
	secret.Data = map[string][]byte{"value": kubeconfig}
	Expect(k8s.Update(ctx, secret)).To(Succeed())
	p.addWithoutNode(ctx)
	p.patch(ctx, object{"metadata": object{"labels": object{pool: "blue"}}})
	Eventually(func() string { return p.machine(ctx).Spec.ProviderID }).WithContext(ctx).ShouldNot(BeEmpty())
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: p.namespace},
		Spec:       corev1.NodeSpec{ProviderID: p.machine(ctx).Spec.ProviderID, Taints: []corev1.Taint{clusterv1.NodeUninitializedTaint}},
	}
	Expect(k8s.Create(ctx, node)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, node)).To(Succeed()) })
	return node
}

var _ = It("On a real API server, patches of taints never lose a taint of somebody else, nor status that the cache doesn't hold", func(ctx SpecContext) {
	const turns = 25
	p := newEmptyPlace(ctx)
	node := joinOwnControlPlane(ctx, p)
	addresses := []corev1.NodeAddress{ // the same merge key twice, as some clouds report it
		{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeInternalIP, Address: "10.0.0.2"},
	}
	node.Status.Addresses = addresses
	Expect(k8s.Status().Update(ctx, node)).To(Succeed())

	By("the first sync")
	stored := func(g Gomega) *corev1.Node {
		now := &corev1.Node{}
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(node), now)).To(Succeed())
		return now
	}
	Eventually(func(g Gomega) {
		g.Expect(stored(g).Labels).To(HaveKeyWithValue(pool, "blue"))
		g.Expect(stored(g).Spec.Taints).NotTo(ContainElement(HaveField("Key", clusterv1.NodeUninitializedTaint.Key)))
	}).WithContext(ctx).Should(Succeed())

	By("the Machine's taint and somebody's taints change at the same time, again and again")
	for turn := range turns {
		p.patch(ctx, object{"spec": object{"taints": []any{object{"key": "dedicated", "value": fmt.Sprint(turn), "effect": "NoSchedule", "propagation": "Always"}}}})
		Expect(retry.RetryOnConflict(retry.DefaultRetry, func() error {
			now := stored(Default)
			now.Spec.Taints = append(now.Spec.Taints, corev1.Taint{Key: fmt.Sprintf("theirs-%d", turn), Effect: corev1.TaintEffectNoSchedule})
			return k8s.Update(ctx, now)
		})).To(Succeed())
	}
	Eventually(func(g Gomega) {
		g.Expect(stored(g).Spec.Taints).To(ContainElement(corev1.Taint{Key: "dedicated", Value: fmt.Sprint(turns - 1), Effect: corev1.TaintEffectNoSchedule}))
	}).WithContext(ctx).Should(Succeed())
	for turn := range turns {
		Expect(stored(Default).Spec.Taints).To(ContainElement(HaveField("Key", fmt.Sprintf("theirs-%d", turn))))
	}
	Expect(stored(Default).Status.Addresses).To(Equal(addresses))

	all, err := env.Requests(ctx)
	Expect(err).NotTo(HaveOccurred())
	patches := all.From(controllers.UserAgent).Where(func(r environment.Request) bool {
		return r.Resource == "nodes" && r.Verb == "patch" && r.Name == node.Name
	})
	refused := patches.Where(func(r environment.Request) bool { return r.Code != 200 })
	AddReportEntry(fmt.Sprintf("%d patches of the Node, of which %d were refused", len(patches), len(refused)))
	Expect(refused).To(HaveEach(HaveField("Code", 409)))
	Expect(len(patches)-len(refused)).To(BeNumerically("<=", turns+1), "one for each change at most")
})

var _ = It("What the API server of the Node refuses is said in an event, until it can be written", func(ctx SpecContext) {
	p := newEmptyPlace(ctx)
	node := joinOwnControlPlane(ctx, p)
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
		g.Expect(node.Labels).To(HaveKeyWithValue(pool, "blue"))
	}).WithContext(ctx).Should(Succeed())

	By("annotations of Node and Machine that are too much together")
	half := strings.Repeat("x", 200<<10)
	Expect(k8s.Patch(ctx, node, merge(object{"metadata": object{"annotations": object{"example.com/theirs": half}}}))).To(Succeed())
	p.patch(ctx, object{"metadata": object{"annotations": object{"example.org/ours": half}, "labels": object{pool: "red"}}})
	Eventually(func() []string { return p.notes(ctx, "FailedSyncNode") }).WithContext(ctx).Should(ContainElement(ContainSubstring("Too long")))
	Expect(p.machine(ctx).Status.Phase).To(Equal("Running"))

	By("room for both")
	p.patch(ctx, object{"metadata": object{"annotations": object{"example.org/ours": "short"}}})
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
		g.Expect(node.Labels).To(HaveKeyWithValue(pool, "red"))
		g.Expect(node.Annotations).To(SatisfyAll(HaveKeyWithValue("example.org/ours", "short"), HaveKeyWithValue("example.com/theirs", half)))
	}).WithContext(ctx).Should(Succeed())
})
