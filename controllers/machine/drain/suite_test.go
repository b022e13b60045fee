// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	simulator "github.com/machinist-dev/machinist/test/simulator/workload"
)

func TestDrain(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Drain")
}

var (
	env *environment.Environment
	// management is the API server with the MachineDrainRules, which is also one of the clusters that are drained.
	management client.Client
	workloads  *simulator.Server
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}})
	management = newClient(env.Config)
	var err error
	workloads, err = simulator.Start(simulator.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(workloads.Close)
})

// now is the time of all specs that don't need the time of an API server.
var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// change is something that a spec wants a Pod to have.
type change func(*corev1.Pod)

// aPod is an ordinary Pod: running, and controlled by a ReplicaSet.
func aPod(name string, changes ...change) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	controlledBy("apps/v1", "ReplicaSet", "web")(pod)
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func controlledBy(apiVersion, kind, name string) change {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(name), Controller: new(true)},
		}
	}
}

func ofDaemonSet(name string) change { return controlledBy("apps/v1", "DaemonSet", name) }

func withoutController(pod *corev1.Pod) { pod.OwnerReferences = nil }

func inPhase(phase corev1.PodPhase) change {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

func labelled(key, value string) change {
	return func(pod *corev1.Pod) { metav1.SetMetaDataLabel(&pod.ObjectMeta, key, value) }
}

func mirror(pod *corev1.Pod) {
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, corev1.MirrorPodAnnotationKey, "hash")
}

func withEmptyDir(pod *corev1.Pod) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	})
}

func withClaim(name string) change {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
}

func deletedAt(when time.Time) change {
	return func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: when} }
}
