// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
)

var _ = Describe("A kubeconfig that is rotated", func() {
	It("is read again when the old credentials are refused, also if that was before it is written", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.run()
		blue := w.cluster(ctx, "blue")
		w.workers(ctx, "blue", 1)
		w.eventuallyRunning(ctx, "blue", 1)
		before := w.settled(ctx, worker("blue", 0))
		blue.RotateToken()

		By("keeping what is known in the meantime")
		refused := requests(blue, "get", "/")
		Eventually(func() int { return requests(blue, "get", "/") }).WithContext(ctx).Should(BeNumerically(">", refused+2))
		Expect(w.machine(ctx, NewWithT(GinkgoT()), before.Name).ResourceVersion).To(Equal(before.ResourceVersion))

		By("connecting again")
		watches := requests(blue, "watch", "nodes")
		Expect(providers.ApplyKubeconfig(ctx, w.key("blue"))).To(Succeed())
		Eventually(func() int { return requests(blue, "watch", "nodes") }).WithContext(ctx).Should(BeNumerically(">", watches))
		w.eventuallyHears(ctx, blue, before.Name)
	})

	It("is not read as long as the old credentials work, and then without losing time", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.run()
		blue := w.cluster(ctx, "blue")
		w.workers(ctx, "blue", 1)
		w.eventuallyRunning(ctx, "blue", 1)
		w.settled(ctx, worker("blue", 0))
		probes, watches := requests(blue, "get", "/"), requests(blue, "watch", "nodes")
		secret := &corev1.Secret{}
		Expect(k8s.Get(ctx, w.key(simulator.KubeconfigSecretName("blue")), secret)).To(Succeed())
		base := secret.DeepCopy()
		secret.Data["value"] = append(secret.Data["value"], '\n')
		Expect(k8s.Patch(ctx, secret, client.MergeFrom(base))).To(Succeed())
		Eventually(func() int { return requests(blue, "get", "/") }).WithContext(ctx).Should(BeNumerically(">", probes+3))
		Expect(requests(blue, "watch", "nodes")).To(Equal(watches), "the connection is the same")

		By("the old ones being refused")
		blue.RotateToken()
		Expect(providers.ApplyKubeconfig(ctx, w.key("blue"))).To(Succeed())
		// The watch that is open goes on, so it takes a probe.
		Eventually(func() int { return requests(blue, "watch", "nodes") }).WithContext(ctx).Should(BeNumerically(">", watches))
		w.eventuallyHears(ctx, blue, worker("blue", 0))
	})

	It("is read when a probe has failed, and not only when the connection is given up", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.run(func(o *controllers.Options) {
			o.WorkloadTiming.ProbeInterval = suite.EventuallyTimeout / 4 // so that five of them are too many
		})
		blue := w.cluster(ctx, "blue")
		w.workers(ctx, "blue", 1)
		w.eventuallyRunning(ctx, "blue", 1)
		Expect(blue.RotateCA()).To(Succeed())
		Expect(providers.ApplyKubeconfig(ctx, w.key("blue"))).To(Succeed())
		changed := time.Now()
		w.eventuallyHears(ctx, blue, worker("blue", 0))
		AddReportEntry("a new CA was followed after", time.Since(changed).String())
	})
})
