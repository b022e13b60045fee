// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	simulator "github.com/machinist-dev/machinist/test/simulator/workload"
)

var _ = Describe("A workload cluster", func() {
	var (
		cluster *simulator.Cluster
		config  *rest.Config
		inside  *rest.Config
		pod     types.NamespacedName
		uid     types.UID
	)
	BeforeEach(func() {
		pod = types.NamespacedName{Namespace: "machinist-system", Name: "manager"}
		inside = &rest.Config{Host: "https://10.96.0.1:443", BearerToken: "the manager's", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("inside")}}
		server, err := simulator.Start(simulator.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(server.Close)
		cluster, err = server.AddCluster(types.NamespacedName{Namespace: "default", Name: "one"})
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.RunPod(pod, "a")).To(Succeed())
		stored := &corev1.Pod{}
		Expect(cluster.Get(pod, stored)).To(Succeed())
		uid = stored.UID
		Expect(uid).NotTo(BeEmpty())
		kubeconfig, err := cluster.Kubeconfig()
		Expect(err).NotTo(HaveOccurred())
		config, err = clientcmd.RESTConfigFromKubeConfig(kubeconfig)
		Expect(err).NotTo(HaveOccurred())
	})
	DescribeTable("is that of the manager's own Pod", func(change func(*Self), own bool) {
		self := Self{Pod: pod, UID: uid, Config: inside}
		change(&self)
		preferred, err := self.preferred(GinkgoT().Context(), config, time.Minute)
		Expect(err).NotTo(HaveOccurred())
		Expect(preferred.BearerToken).To(Equal(config.BearerToken), "the kubeconfig's in any case")
		if own {
			Expect(preferred.Host).To(Equal(inside.Host))
			Expect(preferred.CAData).To(Equal(inside.CAData))
		} else {
			Expect(preferred).To(BeIdenticalTo(config))
		}
	},
		Entry("if it has that Pod", func(*Self) {}, true),
		Entry("not if it has one of another UID", func(s *Self) { s.UID = "other" }, false),
		Entry("not if it has no Pod of that name", func(s *Self) { s.Pod.Name = "other" }, false),
		Entry("not if it has none in that namespace", func(s *Self) { s.Pod.Namespace = "other" }, false),
		Entry("not if the manager runs in no Pod", func(s *Self) { *s = Self{} }, false),
		Entry("not if the manager doesn't know its UID", func(s *Self) { s.UID = "" }, false),
	)

	It("that does not answer is no failure to find the Pod", func(ctx SpecContext) {
		cluster.TakeDown(simulator.Refused)
		_, err := Self{Pod: pod, UID: uid, Config: inside}.preferred(ctx, config, time.Minute)
		Expect(err).To(MatchError(ContainSubstring("does not answer at " + config.Host)))
	})

	It("is asked for a Pod only if the manager runs in one", func(ctx SpecContext) {
		_, err := Self{}.preferred(ctx, config, time.Minute)
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.Requests()).To(BeEmpty())
	})
})
