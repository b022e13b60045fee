// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	clusterv1ac "github.com/machinist-dev/machinist/generated/applyconfiguration/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/manager"
)

// writer counts up something that is its own on a Machine, as fast as it is told to.
type writer struct {
	name  string
	write func(ctx context.Context, key types.NamespacedName, n int) error
	// read returns the number that a Machine has; 0 is none.
	read func(m *clusterv1.Machine) int
}

const health = "HealthCheckSucceeded"

// number is what a writer has made of a number, or 0.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// merging returns a write as controllers make it that know of each other: of what was read, with its version.
func merging(status bool, change func(m *clusterv1.Machine, n int)) func(context.Context, types.NamespacedName, int) error {
	return func(ctx context.Context, key types.NamespacedName, n int) error {
		patiently := wait.Backoff{Duration: 5 * time.Millisecond, Factor: 1.2, Jitter: 0.5, Steps: 25}
		return retry.RetryOnConflict(patiently, func() error {
			m := &clusterv1.Machine{}
			if err := k8s.Get(ctx, key, m); err != nil {
				return err
			}
			base := m.DeepCopy()
			change(m, n)
			patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
			if status {
				return k8s.Status().Patch(ctx, m, patch)
			}
			return k8s.Patch(ctx, m, patch)
		})
	}
}

// writers are the ways in which others write to Machines. The last one adds finalizers, as nobody may to one that is being
// deleted.
func writers() []writer { return append(statusWriters(), objectWriters()...) }

func statusWriters() []writer {
	return []writer{
		{
			"a condition, by a patch", merging(true, func(m *clusterv1.Machine, n int) {
				for i := range m.Status.Conditions {
					if m.Status.Conditions[i].Type == health {
						m.Status.Conditions[i].Message = strconv.Itoa(n)
						return
					}
				}
				m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: health, Status: "True", Reason: health, Message: strconv.Itoa(n), LastTransitionTime: metav1.Now()})
			}), func(m *clusterv1.Machine) int { return messageOf(m, health) },
		},
		{
			"a condition, by apply", func(ctx context.Context, key types.NamespacedName, n int) error {
				condition := metav1ac.Condition().WithType("example.org/Gate").WithStatus("True").WithReason("Open").WithMessage(strconv.Itoa(n)).WithLastTransitionTime(metav1.Now().Rfc3339Copy())
				return k8s.Status().Apply(ctx, clusterv1ac.Machine(key.Name, key.Namespace).WithStatus(clusterv1ac.MachineStatus().WithConditions(condition)), client.FieldOwner("gatekeeper"))
			}, func(m *clusterv1.Machine) int { return messageOf(m, "example.org/Gate") },
		},
		{
			"a condition of v1beta1", merging(true, func(m *clusterv1.Machine, n int) {
				kept := clusterv1.Conditions{{Type: health, Status: "False", Severity: "Info", Reason: "Checked", Message: strconv.Itoa(n), LastTransitionTime: metav1.Now()}}
				for _, c := range m.GetV1Beta1Conditions() {
					if c.Type != health {
						kept = append(kept, c)
					}
				}
				m.SetV1Beta1Conditions(kept)
			}), func(m *clusterv1.Machine) int {
				for _, c := range m.GetV1Beta1Conditions() {
					if c.Type == health {
						return number(c.Message)
					}
				}
				return 0
			},
		},
	}
}

func objectWriters() []writer {
	const key, finalizer = "example.org/count", "example.org/holds-"
	return []writer{
		{
			"a label, an annotation and a number in spec", func(ctx context.Context, at types.NamespacedName, n int) error {
				count := map[string]any{key: strconv.Itoa(n)}
				return k8s.Patch(ctx, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}}, jsonMerge(map[string]any{
					"metadata": map[string]any{"labels": count, "annotations": count}, "spec": map[string]any{"deletion": map[string]any{"nodeDrainTimeoutSeconds": n}},
				}))
			}, func(m *clusterv1.Machine) int {
				inSpec := 0
				if timeout := m.Spec.Deletion.NodeDrainTimeoutSeconds; timeout != nil {
					inSpec = int(*timeout)
				}
				return min(number(m.Labels[key]), number(m.Annotations[key]), inSpec)
			},
		},
		{
			"finalizers and owners", merging(false, func(m *clusterv1.Machine, n int) {
				m.Finalizers = append(m.Finalizers, finalizer+strconv.Itoa(n))
				m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "Backup", Name: strconv.Itoa(n), UID: types.UID(strconv.Itoa(n))})
			}), func(m *clusterv1.Machine) int {
				owners := 0
				for _, ref := range m.OwnerReferences {
					if ref.Kind == "Backup" {
						owners++
					}
				}
				finalizers := 0
				for _, f := range m.Finalizers {
					if f != clusterv1.MachineFinalizer {
						finalizers++
					}
				}
				return min(owners, finalizers)
			},
		},
	}
}

func messageOf(m *clusterv1.Machine, conditionType string) int {
	for _, c := range m.Status.Conditions {
		if c.Type == conditionType {
			return number(c.Message)
		}
	}
	return 0
}

// witness sees every version of a Machine, and that no number ever goes down.
type witness struct {
	mu       sync.Mutex
	writers  []writer
	highest  []int
	versions int
	phases   map[string]bool
	lost     []string
}

func watchFrom(ctx context.Context, namespace string, all []writer) *witness {
	GinkgoHelper()
	watching := manager.User(env, "witness")
	events, err := watching.Watch(ctx, &clusterv1.MachineList{}, client.InNamespace(namespace))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(events.Stop)
	w := &witness{writers: all, highest: make([]int, len(all)), phases: map[string]bool{}}
	go func() {
		for event := range events.ResultChan() {
			if m, ok := event.Object.(*clusterv1.Machine); ok {
				w.see(m)
			}
		}
	}()
	return w
}

func (w *witness) see(m *clusterv1.Machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.versions++
	w.phases[m.Status.Phase] = true
	for i, writer := range w.writers {
		n := writer.read(m)
		if n < w.highest[i] {
			w.lost = append(w.lost, fmt.Sprintf("%s: %d after %d, in version %s", writer.name, n, w.highest[i], m.ResourceVersion))
		}
		w.highest[i] = max(w.highest[i], n)
	}
}

// reached reports whether the numbers of the first writers have come that far.
func (w *witness) reached(writers, n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, highest := range w.highest[:writers] {
		if highest < n {
			return false
		}
	}
	return true
}

// losses returns what has gone down so far.
func (w *witness) losses() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lost)
}

// countUp makes all writers count from a number up to another, each at its own pace. The function that it returns waits for
// them.
func countUp(ctx context.Context, key types.NamespacedName, all []writer, from, to int) func() {
	const pace = 200 * time.Millisecond
	var working sync.WaitGroup
	for _, w := range all {
		working.Go(func() {
			defer GinkgoRecover()
			ticker := time.NewTicker(pace)
			defer ticker.Stop()
			for n := from; n <= to; n++ {
				Eventually(func() error { return w.write(ctx, key, n) }).WithContext(ctx).Should(Succeed(), w.name)
				<-ticker.C
			}
		})
	}
	return working.Wait
}

var _ = It("What others write survives at every moment of a Machine's life", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
	const rounds, more = 25, 10
	f := newFixture(ctx, newProvider)
	key := types.NamespacedName{Namespace: f.namespace, Name: "m"}
	all := writers()
	seen := watchFrom(ctx, f.namespace, all)
	machine := f.machine("m")
	create(ctx, machine)

	By("writing in five ways at once while the manager takes the Machine to Running")
	waitForAll := countUp(ctx, key, all, 1, rounds)
	infra := f.infraMachine(f.namespace, "m").With(func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.org/provider"}) }).Build()
	create(ctx, infra, f.bootstrapConfig(f.namespace, "m").WithDataSecretCreated(true).WithDataSecretName("m").Build())
	f.node("m", "sim:///m")
	for round := 0; !seen.reached(len(all), rounds); round++ {
		Expect(seen.losses()).To(BeEmpty())
		message := fmt.Sprint("round ", round)
		report(ctx, f.infraMachine(f.namespace, "m").WithProvisioned(true).WithProviderID("sim:///m").
			WithConditions([]contract.Condition{{Type: "Ready", Status: "True", Reason: "Ready", Message: message}}).Build())
		f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Conditions).To(haveCondition("InfrastructureReady", metav1.ConditionTrue, "Ready", message))
		})
	}
	waitForAll()
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.Phase).To(Equal("Running"))
		g.Expect(m.Status.Conditions).To(haveCondition("Ready", metav1.ConditionTrue, "Ready", Not(BeEmpty())))
	})

	By("writing in four ways while it takes the Machine down, as nobody may add finalizers then")
	waitForAll = countUp(ctx, key, all[:4], rounds+1, rounds+more)
	Expect(k8s.Delete(ctx, machine)).To(Succeed())
	Eventually(seen.reached).WithContext(ctx).WithArguments(4, rounds+more/2).Should(BeTrue())
	mergePatch(ctx, infra, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	waitForAll()
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Finalizers).NotTo(ContainElement(clusterv1.MachineFinalizer))
		for _, w := range all[:4] {
			g.Expect(w.read(m)).To(Equal(rounds+more), w.name)
		}
		g.Expect(all[4].read(m)).To(Equal(rounds), all[4].name)
	})
	seen.mu.Lock()
	defer seen.mu.Unlock()
	Expect(seen.lost).To(BeEmpty())
	Expect(seen.phases).To(And(HaveKey("Running"), HaveKey("Deleting")), "of %d versions", seen.versions)
	finalizers := jsonMerge(map[string]any{"metadata": map[string]any{"finalizers": nil}})
	Expect(k8s.Patch(ctx, machine, finalizers)).To(Succeed())
})
