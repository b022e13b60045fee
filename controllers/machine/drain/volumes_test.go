// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// stage puts something into a world.
type stage func(ctx context.Context, w *world)

// volume makes a PersistentVolume of a CSI driver; claim may be empty. Names and handles get the namespace of the world as
// a prefix, as volumes have none.
func volume(name, claim string) stage {
	return func(ctx context.Context, w *world) {
		volume := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-" + name},
			Spec: corev1.PersistentVolumeSpec{
				Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				PersistentVolumeSource: corev1.PersistentVolumeSource{
					CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.example.com", VolumeHandle: w.namespace + "-" + name},
				},
			},
		}
		if claim != "" {
			volume.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: w.namespace, Name: claim}
		}
		Expect(w.Create(ctx, volume)).To(Succeed())
	}
}

// onNode makes the kubelet report these volumes.
func onNode(names ...string) stage {
	return func(ctx context.Context, w *world) {
		node := w.node(ctx)
		for _, name := range names {
			node.Status.VolumesAttached = append(node.Status.VolumesAttached, corev1.AttachedVolume{
				Name: corev1.UniqueVolumeName("kubernetes.io/csi/disk.example.com^" + w.namespace + "-" + name), DevicePath: "csi-" + name,
			})
		}
		Expect(w.Status().Update(ctx, node)).To(Succeed())
	}
}

// attachment makes a VolumeAttachment of the volume.
func attachment(volume string, attached bool, changes ...func(*storagev1.VolumeAttachment)) stage {
	return func(ctx context.Context, w *world) {
		attachment := &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "attachment-"},
			Spec: storagev1.VolumeAttachmentSpec{
				Attacher: "disk.example.com",
				NodeName: w.subject.nodeName(),
				Source:   storagev1.VolumeAttachmentSource{PersistentVolumeName: new(w.namespace + "-" + volume)},
			},
		}
		for _, change := range changes {
			change(attachment)
		}
		Expect(w.Create(ctx, attachment)).To(Succeed())
		attachment.Status.Attached = attached
		Expect(w.Status().Update(ctx, attachment)).To(Succeed())
	}
}

func runs(name string, changes ...change) stage {
	return func(ctx context.Context, w *world) { w.run(ctx, name, changes...) }
}

func daemonSet(ctx context.Context, w *world) {
	labels := map[string]string{"app": "agent"}
	Expect(w.Create(ctx, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: aPod("agent").Spec},
		},
	})).To(Succeed())
}

func lostKubelet(ctx context.Context, w *world) { w.loseKubelet(ctx) }

var _ = DescribeTableSubtree("Attached volumes in a cluster that is", func(kind string) {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = clusters[kind](ctx) })

	DescribeTable("are waited for", func(ctx SpecContext, lines string, stages ...stage) {
		for _, stage := range stages {
			stage(ctx, w)
		}
		want := "Waiting for Node volumes to be detached (started at 2026-11-30T12:04:05Z)" + lines
		Expect(w.volumes(ctx)).To(Equal(strings.ReplaceAll(want, "NS", w.namespace)))
	},
		Entry("reported by the kubelet, by their claim", "\n* PersistentVolumeClaims: NS/data", volume("1", "data"), onNode("1")),
		Entry("reported by the kubelet, without a claim",
			"\n* PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim: NS-1", volume("1", ""), onNode("1")),
		Entry("reported by the kubelet, unknown",
			"\n* Node with .status.volumesAttached entries not matching a PersistentVolume: kubernetes.io/csi/disk.example.com^NS-1", onNode("1")),
		Entry("with a VolumeAttachment", "\n* PersistentVolumeClaims: NS/data", volume("1", "data"), attachment("1", true)),
		Entry("with a VolumeAttachment, unknown",
			"\n* VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume: NS-1", attachment("1", true)),
		Entry("once, if both say so", "\n* PersistentVolumeClaims: NS/data", volume("1", "data"), onNode("1"), attachment("1", true)),
		Entry("all in order, up to a number", `
* PersistentVolumeClaims: NS/a, NS/b, NS/c, NS/d, NS/e, ... (1 more)
* PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim: NS-0
* VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume: NS-7`,
			volume("1", "f"), volume("2", "e"), volume("3", "d"), volume("4", "c"), volume("5", "b"), volume("6", "a"), volume("0", ""),
			onNode("1", "2", "3", "4", "5", "6", "0"), attachment("7", true)),
		Entry("of a Pod that is going", "\n* PersistentVolumeClaims: NS/data", volume("1", "data"), onNode("1"),
			runs("web", withClaim("data")), stage(func(ctx context.Context, w *world) { w.drain(ctx) })),
		Entry("of a Pod that has completed, as it was waited for", "\n* PersistentVolumeClaims: NS/data", volume("1", "data"), onNode("1"),
			runs("job", withClaim("data"), labelled(clusterv1.PodDrainLabel, "wait-completed"), inPhase(corev1.PodSucceeded))),
		Entry("of another Pod than that which stays", "\n* PersistentVolumeClaims: NS/data", volume("1", "data"), volume("2", "logs"), onNode("1", "2"),
			stage(daemonSet), runs("agent", ofDaemonSet("agent"), withClaim("logs"))),
	)

	DescribeTable("are not waited for", func(ctx SpecContext, stages ...stage) {
		for _, stage := range stages {
			stage(ctx, w)
		}
		Expect(w.volumes(ctx)).To(BeEmpty())
	},
		Entry("if there are none", volume("1", "data")),
		Entry("if their attachment isn't done", volume("1", "data"), attachment("1", false)),
		Entry("on another Node", volume("1", "data"), attachment("1", true, func(a *storagev1.VolumeAttachment) { a.Spec.NodeName = "another" })),
		Entry("if the kubelet is lost", volume("1", "data"), onNode("1"), attachment("1", true), stage(lostKubelet)),
		Entry("if there is no Node", stage(func(ctx context.Context, w *world) { Expect(w.Delete(ctx, w.node(ctx))).To(Succeed()) }), attachment("1", true)),
		Entry("of a DaemonSet, reported by the kubelet", volume("1", "logs"), onNode("1"),
			stage(daemonSet), runs("agent", ofDaemonSet("agent"), withClaim("logs"))),
		Entry("of a DaemonSet, with a VolumeAttachment", volume("1", "logs"), attachment("1", true),
			stage(daemonSet), runs("agent", ofDaemonSet("agent"), withClaim("logs"))),
		Entry("that are ephemeral, of a DaemonSet", volume("1", "agent-scratch"), attachment("1", true),
			stage(daemonSet), runs("agent", ofDaemonSet("agent"), withEphemeral("scratch"))),
		Entry("of a Pod that a rule leaves alone", volume("1", "data"), onNode("1"),
			stage(func(ctx context.Context, w *world) { w.rule(ctx, "db", skipIt, nil) }), runs("db", ofApp("db"), withClaim("data"))),
	)
},
	Entry(nil, "real"),
	Entry(nil, "simulated"),
)

var _ = Describe("A volume attached without a PersistentVolume", func() {
	It("is an error that names the VolumeAttachment", func(ctx SpecContext) {
		w := clusters["simulated"](ctx)
		attachment("1", true, func(a *storagev1.VolumeAttachment) {
			a.Name, a.Spec.Source = "inline", storagev1.VolumeAttachmentSource{InlineVolumeSpec: &corev1.PersistentVolumeSpec{}}
		})(ctx, w)
		_, err := w.drainer.Volumes(ctx, w.subject)
		Expect(err).To(MatchError("failed to look for volumes attached to Node " + w.subject.nodeName() +
			": spec.source.persistentVolumeName for VolumeAttachment inline is not set"))
	})
})

func withEphemeral(name string) change {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
					},
				},
			}},
		}})
	}
}
