// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// eachFlavour makes a table of all flavours.
func eachFlavour(body func(ctx SpecContext, flavour string)) []any {
	table := []any{body}
	for _, flavour := range flavours {
		table = append(table, Entry(flavour, flavour))
	}
	return table
}

var _ = DescribeTable("The manager's container may write nowhere, is watched, and is among the last to go", eachFlavour(func(ctx SpecContext, flavour string) {
	for _, d := range as[appsv1.Deployment](render(ctx, flavour).of("Deployment")) {
		Expect(d.Spec.Replicas).To(HaveValue(BeEquivalentTo(2)), "one works, one stands by")
		pod := d.Spec.Template.Spec
		Expect(pod.PriorityClassName).To(Equal("system-cluster-critical"))
		Expect(pod.SecurityContext.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
		Expect(pod.Containers).To(HaveLen(1))
		container := pod.Containers[0]
		Expect(container.SecurityContext.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()))
		for _, mount := range container.VolumeMounts {
			Expect(mount.ReadOnly).To(BeTrue(), mount.Name)
		}
		Expect(container.LivenessProbe.HTTPGet.Path).To(Equal("/healthz"))
		Expect(container.ReadinessProbe.HTTPGet.Path).To(Equal("/readyz"))
		Expect(container.Resources.Requests).To(And(HaveKey(corev1.ResourceCPU), HaveKey(corev1.ResourceMemory)))
		Expect(container.Resources.Limits).To(And(HaveKey(corev1.ResourceMemory), Not(HaveKey(corev1.ResourceCPU))))
		Expect(container.Env).To(ContainElement(And(HaveField("Name", "GOMEMLIMIT"), HaveField("ValueFrom.ResourceFieldRef.Resource", "limits.memory"))))
	}
})...)
