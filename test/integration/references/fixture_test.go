// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"errors"
	"regexp"
	"sync"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
)

// user is a client that keeps the warnings that it gets. It does one thing at a time.
type user struct {
	client.Client

	mu       sync.Mutex
	warnings []string
}

func newUser(as rest.ImpersonationConfig) *user {
	GinkgoHelper()
	u := &user{}
	cfg := env.ConfigFor("references-test")
	cfg.QPS, cfg.Impersonate, cfg.WarningHandler = -1, as, u
	var err error
	u.Client, err = client.New(cfg, client.Options{Scheme: controllers.NewScheme()})
	Expect(err).NotTo(HaveOccurred())
	return u
}

// HandleWarningHeader implements rest.WarningHandler.
func (u *user) HandleWarningHeader(_ int, _, text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.warnings = append(u.warnings, text)
}

// answer is what the API server said to a request: per finding its field and rule. What is neither is there as it is.
type answer struct {
	Denied, Warned []string
	Texts          []string
	Err            error
}

var ruleOf = regexp.MustCompile(`\((R\w+)\)$`)

func short(field, text string) string {
	if match := ruleOf.FindStringSubmatch(text); match != nil {
		return field + " " + match[1]
	}
	return field + " " + text
}

var warningParts = regexp.MustCompile(`^(spec\.[\w.]+): (.*)$`)

// asks sends a request.
func (u *user) asks(request func(c client.Client) error) answer {
	u.mu.Lock()
	u.warnings = nil
	u.mu.Unlock()
	a := answer{Err: request(u.Client)}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, warning := range u.warnings {
		a.Texts = append(a.Texts, warning)
		parts := warningParts.FindStringSubmatch(warning)
		if parts == nil || utf8.RuneCountInString(warning) > 120 {
			a.Warned = append(a.Warned, warning)
			continue
		}
		a.Warned = append(a.Warned, short(parts[1], parts[2]))
	}
	status := apierrors.APIStatus(nil)
	if errors.As(a.Err, &status) && apierrors.IsInvalid(a.Err) {
		for _, cause := range status.Status().Details.Causes {
			a.Denied = append(a.Denied, short(cause.Field, cause.Message))
			a.Texts = append(a.Texts, cause.Field+": "+cause.Message)
		}
	}
	return a
}

// creates sends the object.
func (u *user) creates(ctx context.Context, object client.Object) answer {
	return u.asks(func(c client.Client) error { return c.Create(ctx, object) })
}

// tries sends it as a dry run.
func (u *user) tries(ctx context.Context, object client.Object) answer {
	return u.asks(func(c client.Client) error {
		return c.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
	})
}

// changes patches the object.
func (u *user) changes(ctx context.Context, m *clusterv1.Machine, change func(*clusterv1.Machine), options ...client.PatchOption) answer {
	GinkgoHelper()
	now := m.DeepCopy()
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(m), now)).To(Succeed())
	before := now.DeepCopy()
	change(now)
	return u.asks(func(c client.Client) error { return c.Patch(ctx, now, client.MergeFrom(before), options...) })
}

// saySilently, warnAbout and denyFor match answers.
func saySilently() OmegaMatcher { return warnAbout() }

func warnAbout(warned ...string) OmegaMatcher { return says(nil, warned) }

func denyFor(denied ...string) OmegaMatcher { return says(denied, nil) }

func says(denied, warned []string) OmegaMatcher {
	outcome := HaveField("Err", BeNil())
	if len(denied) > 0 {
		outcome = HaveField("Err", Satisfy(apierrors.IsInvalid))
	}
	return SatisfyAll(outcome, HaveField("Denied", ConsistOf(denied)), HaveField("Warned", ConsistOf(warned)))
}

// place is a namespace. Its Cluster, if it has one, is called cluster.
type place struct{ namespace string }

// newNamespace makes a namespace whose Machines are judged as the label says.
func newNamespace(ctx SpecContext, label string) place {
	GinkgoHelper()
	p := place{suite.Namespace(ctx, env)}
	merge(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}, map[string]any{"metadata": map[string]any{"labels": map[string]any{modeLabel: label}}})
	return p
}

// newPlace is newNamespace with a Cluster, which is paused unless a change says otherwise: the specs play the controller,
// too. It waits until the webhooks are asked about the namespace, and know the Cluster.
func newPlace(ctx SpecContext, label string, changes ...func(*clusterv1.Cluster)) place {
	GinkgoHelper()
	p := newNamespace(ctx, label)
	unborn := func() answer { return admin.tries(ctx, p.machine("unborn").Build()) }
	Eventually(unborn).WithContext(ctx).Should(warnAbout("spec.clusterName R15"))
	cluster := builder.Cluster(p.namespace, "cluster").WithPaused(true)
	for _, change := range changes {
		cluster = cluster.With(change)
	}
	Expect(k8s.Create(ctx, cluster.Build())).To(Succeed())
	Eventually(unborn).WithContext(ctx).Should(saySilently())
	return p
}

func unpaused(c *clusterv1.Cluster) { c.Spec.Paused = nil }

// get returns the Machine.
func (p place) get(ctx context.Context, name string) func(g Gomega) *clusterv1.Machine {
	return func(g Gomega) *clusterv1.Machine {
		m := &clusterv1.Machine{}
		g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, m)).To(Succeed())
		return m
	}
}

func (p place) machine(name string) builder.MachineBuilder { return builder.Machine(p.namespace, name) }

// stored creates a Machine, past all webhooks' doubts, with a status, and waits until it is found by what it references.
func (p place) stored(ctx SpecContext, m *clusterv1.Machine, status map[string]any) *clusterv1.Machine {
	GinkgoHelper()
	m.Annotations = map[string]string{clusterv1.SkipReferenceValidationAnnotation: "all"}
	Expect(k8s.Create(ctx, m)).To(Succeed())
	if status != nil {
		mergeStatus(ctx, m, status)
	}
	merge(ctx, m, map[string]any{"metadata": map[string]any{"annotations": nil}})
	twin := p.machine("twin-of-" + m.Name).With(func(t *clusterv1.Machine) { t.Spec.InfrastructureRef = m.Spec.InfrastructureRef }).Build()
	Eventually(func() []string {
		a := admin.tries(ctx, twin)
		return append(a.Denied, a.Warned...)
	}).WithContext(ctx).Should(ContainElement("spec.infrastructureRef.name R8"))
	return m
}

// object creates a provider object.
func (p place) object(ctx SpecContext, kind schema.GroupKind, name string, changes ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	GinkgoHelper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind.WithVersion(simulator.NewAPIVersion))
	o.SetNamespace(p.namespace)
	o.SetName(name)
	o.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "cluster"})
	for _, change := range changes {
		change(o)
	}
	Expect(k8s.Create(ctx, o)).To(Succeed())
	return o
}

func ownedBy(apiVersion, kind, name string, uid types.UID) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: new(true)}})
	}
}

// infra changes spec.infrastructureRef.
func infra(kind schema.GroupKind, name string) func(*clusterv1.Machine) {
	return func(m *clusterv1.Machine) {
		m.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: kind.Group, Kind: kind.Kind, Name: name}
	}
}
