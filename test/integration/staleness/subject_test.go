// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package staleness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/generated/facadetest"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// diary is what somebody did, with the time since the beginning.
type diary struct {
	started time.Time
	lines   []string
}

func newDiary() diary { return diary{started: time.Now()} }

func (d *diary) note(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf("%6.3f s  ", time.Since(d.started).Seconds())+fmt.Sprintf(format, args...))
}

func (d *diary) String() string { return strings.Join(d.lines, "\n") }

// subject is a Machine to whose objects anything happens.
type subject struct {
	*world
	provider
	diary
	name string
	// shares names the Machine whose InfraMachine this one references, too; empty if it has one of its own.
	shares string
	random *rand.Rand
	// judged is what another controller has said last about the Machine, in a condition of its own.
	judged judgement
}

// judgement is a condition by another controller on the Machine of that UID.
type judgement struct {
	uid     types.UID
	message string
}

func (s *subject) one(of ...string) string { return of[s.random.IntN(len(of))] }

func (s *subject) infraName() string {
	if s.shares != "" {
		return s.shares
	}
	return s.name
}

func (s *subject) newMachine() *clusterv1.Machine {
	m := s.machine(s.namespace, s.name)
	m.Spec.InfrastructureRef.Name = s.infraName()
	return m
}

func (s *subject) infraObject() *unstructured.Unstructured {
	return s.infraMachine(s.namespace, s.infraName()).Build()
}

func (s *subject) configObject() *unstructured.Unstructured {
	return s.bootstrapConfig(s.namespace, s.name).Build()
}

// steps does that many things one after the other, with pauses of up to the given length.
func (s *subject) steps(ctx context.Context, count int, longest time.Duration) {
	for range count {
		s.step(ctx)
		pause(ctx, time.Duration(s.random.Int64N(int64(longest))))
	}
}

// prepareLast brings most Machines to where they show every change.
func (s *subject) prepareLast(ctx context.Context) {
	if s.random.IntN(3) > 0 {
		s.mend(ctx)
	}
}

// last does one of those things more often of which the Machine hears by one event only.
func (s *subject) last(ctx context.Context) {
	switch s.random.IntN(6) {
	case 0, 1:
		s.reportInfra(ctx)
	case 2:
		s.reportBootstrap(ctx)
	case 3, 4:
		s.changeNode()
	default:
		s.step(ctx)
	}
}

func (s *subject) step(ctx context.Context) {
	switch what := s.random.IntN(100); {
	case len(s.lines) == 0, what < 8:
		s.make(ctx, s.newMachine())
		if s.random.IntN(4) > 0 {
			s.mend(ctx)
		}
	case what < 38:
		s.reportInfra(ctx)
	case what < 50:
		s.reportBootstrap(ctx)
	case what < 56:
		s.make(ctx, s.objects()...)
	case what < 60:
		s.remove(ctx, s.objects()[s.random.IntN(2)])
	case what < 66:
		s.rob(ctx, s.objects()[s.random.IntN(2)])
	case what < 88:
		s.changeNode()
	case what < 92:
		s.judge(ctx)
	default:
		s.changeMachine(ctx)
	}
}

// mend makes everything as it should be.
func (s *subject) mend(ctx context.Context) {
	s.note("mend everything")
	s.make(ctx, s.objects()...)
	s.patch(ctx, s.newMachine(), object{"metadata": object{"annotations": nil}})
	infra := s.infraMachine(s.namespace, s.infraName()).WithProvisioned(true).WithProviderID(s.providerID("1")).Build()
	config := s.bootstrapConfig(s.namespace, s.name).WithDataSecretCreated(true).WithDataSecretName("data").Build()
	for _, o := range []*unstructured.Unstructured{infra, config} {
		s.patch(ctx, o, object{"metadata": object{"ownerReferences": nil}})
		Expect(client.IgnoreNotFound(k8s.Status().Patch(ctx, nameOnly(o), merge(object{"status": nil})))).To(Succeed())
		s.report(ctx, o)
	}
	for node, number := range map[string]string{"a": "1", "b": "2"} {
		err := s.workload.Create(newNode(s.name+"-"+node, s.providerID(number), corev1.ConditionTrue))
		Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	}
}

// providerID returns one of two that the InfraMachine may report.
func (s *subject) providerID(number string) string {
	return "sim:///" + s.infraName() + "/" + number
}

func (s *subject) objects() []client.Object {
	return []client.Object{s.infraObject(), s.configObject()}
}

// make creates what does not exist.
func (s *subject) make(ctx context.Context, objects ...client.Object) {
	for _, o := range objects {
		if s.random.IntN(5) == 0 {
			o.SetFinalizers([]string{"example.org/provider"})
		}
		err := k8s.Create(ctx, o)
		if err == nil {
			s.note("create %s", nameOnly(o).GetKind())
		}
		Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	}
}

func (s *subject) remove(ctx context.Context, o client.Object) {
	s.note("delete %s, then its finalizers", nameOnly(o).GetKind())
	Expect(client.IgnoreNotFound(k8s.Delete(ctx, o))).To(Succeed())
	s.patch(ctx, o, object{"metadata": object{"finalizers": nil}})
}

// rob takes label or owner away, or gives the object to somebody else for a while.
func (s *subject) rob(ctx context.Context, o client.Object) {
	kind := nameOnly(o).GetKind()
	switch s.random.IntN(3) {
	case 0:
		s.note("take the owner from %s", kind)
		s.patch(ctx, o, object{"metadata": object{"ownerReferences": nil}})
	case 1:
		s.note("take the label from %s", kind)
		s.patch(ctx, o, object{"metadata": object{"labels": nil}})
	default:
		s.note("give %s to a pool", kind)
		s.patch(ctx, o, object{"metadata": object{"ownerReferences": []metav1.OwnerReference{
			{APIVersion: "example.org/v1", Kind: "Pool", Name: "pool", UID: "1", Controller: new(true)},
		}}})
	}
}

// patch leaves alone what is gone.
func (s *subject) patch(ctx context.Context, o client.Object, content object) {
	Expect(client.IgnoreNotFound(k8s.Patch(ctx, nameOnly(o), merge(content)))).To(Succeed())
}

// report makes an object say some of what the given one says: its spec, or its status, or both.
func (s *subject) report(ctx context.Context, o *unstructured.Unstructured) {
	if spec, ok := o.Object["spec"]; ok {
		s.note("%s spec %v", o.GetKind(), spec)
		s.patch(ctx, o, object{"spec": spec})
	}
	if status, ok := o.Object["status"]; ok {
		s.note("%s status %v", o.GetKind(), status)
		Expect(client.IgnoreNotFound(k8s.Status().Patch(ctx, nameOnly(o), merge(object{"status": status})))).To(Succeed())
	}
}

func (s *subject) reportInfra(ctx context.Context) {
	o := s.infraObject()
	id := s.providerID(s.one("1", "1", "1", "2"))
	switch s.random.IntN(12) {
	case 0, 1, 2:
		facadetest.SetInfraMachineProvisioned(o, s.contract, true)
		facadetest.SetInfraMachineProviderID(o, s.contract, id)
	case 3:
		facadetest.SetInfraMachineProvisioned(o, s.contract, false)
	case 4:
		facadetest.SetInfraMachineProviderID(o, s.contract, id)
	case 5:
		s.set(o, nil, "spec", "providerID")
	case 6:
		facadetest.SetInfraMachineAddresses(o, s.contract, []contract.MachineAddress{
			{Type: "InternalIP", Address: "10.0.0." + s.one("1", "2", "3")}, {Type: s.one("Hostname", "Pigeon"), Address: s.name},
		})
	case 7:
		facadetest.SetInfraMachineFailureDomain(o, s.contract, "zone-"+s.one("a", "b"))
		facadetest.SetInfraMachineDeprecatedFailureDomain(o, s.contract, "zone-"+s.one("a", "b"))
	case 8:
		facadetest.SetInfraMachineConditions(o, s.contract, s.conditions())
		facadetest.SetInfraMachineDeprecatedConditions(o, s.contract, s.deprecatedConditions())
	case 9:
		facadetest.SetInfraMachineFailureMessage(o, s.contract, "broken "+s.one("once", "twice"))
	case 10:
		s.set(o, s.one("beat", "beat again"), "status", "heartbeat")
	default:
		s.breakContract(o, [][]string{{"spec", "providerID"}, {"status", "failureDomain"}, {"status", "conditions"}, {"status", "ready"}, {"status", "initialization"}})
	}
	s.report(ctx, o)
}

func (s *subject) reportBootstrap(ctx context.Context) {
	o := s.configObject()
	switch s.random.IntN(7) {
	case 0, 1:
		facadetest.SetBootstrapConfigDataSecretCreated(o, s.contract, true)
		facadetest.SetBootstrapConfigDataSecretName(o, s.contract, "data")
	case 2:
		facadetest.SetBootstrapConfigDataSecretCreated(o, s.contract, s.random.IntN(2) == 0)
	case 3:
		s.set(o, nil, "status", "dataSecretName")
	case 4:
		facadetest.SetBootstrapConfigConditions(o, s.contract, s.conditions())
		facadetest.SetBootstrapConfigDeprecatedConditions(o, s.contract, s.deprecatedConditions())
	case 5:
		facadetest.SetBootstrapConfigFailureMessage(o, s.contract, "broken "+s.one("once", "twice"))
	default:
		s.breakContract(o, [][]string{{"status", "dataSecretName"}, {"status", "conditions"}, {"status", "ready"}, {"status", "initialization"}})
	}
	s.report(ctx, o)
}

// breakContract puts a value of the wrong type at one of the paths, or mends all by taking them away.
func (s *subject) breakContract(o *unstructured.Unstructured, paths [][]string) {
	if s.random.IntN(2) == 0 {
		s.set(o, int64(42), paths[s.random.IntN(len(paths))]...)
		return
	}
	for _, path := range paths {
		s.set(o, nil, path...)
	}
}

func (s *subject) set(o *unstructured.Unstructured, value any, path ...string) {
	Expect(unstructured.SetNestedField(o.Object, value, path...)).To(Succeed())
}

func (s *subject) conditions() []contract.Condition {
	return []contract.Condition{{
		Type: "Ready", Status: s.one("True", "False", "Unknown"), Reason: s.one("Good", "Bad"), Message: s.one("", "something"),
		LastTransitionTime: metav1.Now().Rfc3339Copy(),
	}}
}

func (s *subject) deprecatedConditions() []contract.DeprecatedCondition {
	return []contract.DeprecatedCondition{{
		Type: "Ready", Status: s.one("True", "False"), Severity: s.one("", "Warning"), Reason: s.one("Good", "Bad"), LastTransitionTime: metav1.Now().Rfc3339Copy(),
	}}
}

// changeNode creates, changes or deletes one of two Nodes, which may have the same provider ID.
func (s *subject) changeNode() {
	name := s.name + "-" + s.one("a", "a", "b")
	id := s.providerID(s.one("1", "1", "1", "2"))
	node := newNode(name, id, corev1.ConditionStatus(s.one("True", "True", "False", "Unknown")))
	key := types.NamespacedName{Name: name}
	err := s.workload.Get(key, &corev1.Node{})
	switch {
	case apierrors.IsNotFound(err):
		s.note("create Node %s of %s", name, id)
		Expect(s.workload.Create(node)).To(Succeed())
	case s.random.IntN(4) == 0:
		s.note("delete Node %s", name)
		Expect(s.workload.Delete(key, node)).To(Succeed())
	default:
		s.note("change the conditions of Node %s: ready %s", name, node.Status.Conditions[0].Status)
		Expect(workload.Update(s.workload, key, func(n *corev1.Node) { n.Status.Conditions = node.Status.Conditions })).To(Succeed())
	}
}

// judge writes a condition as other controllers do: with the resourceVersion, and again after a conflict.
func (s *subject) judge(ctx context.Context) {
	m, message := s.newMachine(), fmt.Sprintf("judged at step %d", len(s.lines))
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return err
		}
		base := m.DeepCopy()
		meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{
			Type: clusterv1.MachineHealthCheckSucceededCondition, Status: metav1.ConditionTrue, Reason: "Judged", Message: message,
		})
		return k8s.Status().Patch(ctx, m, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	})
	if client.IgnoreNotFound(err) == nil {
		s.note("condition by another controller: %s", message)
	}
	if err == nil {
		s.judged = judgement{uid: m.UID, message: message}
	}
	Expect(client.IgnoreNotFound(err)).To(Succeed())
}

// keptJudgement reports whether the Machine still says what the other controller has said last.
func (s *subject) keptJudgement(m *clusterv1.Machine) bool {
	condition := meta.FindStatusCondition(m.Status.Conditions, clusterv1.MachineHealthCheckSucceededCondition)
	return s.judged.uid != m.UID || condition != nil && condition.Message == s.judged.message
}

func (s *subject) changeMachine(ctx context.Context) {
	m := s.newMachine()
	switch s.random.IntN(8) {
	case 0:
		s.note("pause the Machine")
		s.patch(ctx, m, object{"metadata": object{"annotations": object{clusterv1.PausedAnnotation: ""}}})
	case 1, 2, 3:
		s.note("don't pause the Machine")
		s.patch(ctx, m, object{"metadata": object{"annotations": object{clusterv1.PausedAnnotation: nil}}})
	case 4:
		s.note("take the Machine's labels")
		s.patch(ctx, m, object{"metadata": object{"labels": nil}})
	case 5:
		s.note("change the Machine's spec")
		s.patch(ctx, m, object{"spec": object{"minReadySeconds": s.random.IntN(2)}})
	case 6:
		s.note("say that an update of the Machine is in progress, or not")
		s.patch(ctx, m, object{"metadata": object{"annotations": object{clusterv1.UpdateInProgressAnnotation: []any{"", nil}[s.random.IntN(2)]}}})
	default:
		s.note("delete the Machine, and create it if it is gone")
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, m))).To(Succeed())
		s.make(ctx, s.newMachine())
	}
}
