// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Names of what is installed. Users rely on them, so they are written down here once more.
const (
	system          = "machinist-system"
	deploymentName  = "machinist-controller-manager"
	accountName     = "machinist-manager"
	certificateName = "machinist-webhook-service-cert"
	leaseName       = "controller-leader-election-machinist"
)

// podLabels are on the manager's pods, whatever the flavour.
var podLabels = client.MatchingLabels{"app.kubernetes.io/name": "machinist", "control-plane": "controller-manager"}

// clusterWide are the kinds without a namespace that a flavour may install. CustomResourceDefinitions are not among them:
// they hold the users' objects, and stay until they are uninstalled.
var clusterWide = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Namespace"),
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicyBinding"},
	{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"},
}

// namespaced are the kinds with a namespace that a flavour may install, or that come of it. Secrets are not among them: their
// names would have to tell ours from those of Machines.
var namespaced = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Pod"),
	corev1.SchemeGroupVersion.WithKind("Service"),
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
	coordinationv1.SchemeGroupVersion.WithKind("Lease"),
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
}

// installation is Machinist in one of its flavours.
type installation struct {
	// overlay is the folder below config/, namespace where the manager is.
	overlay, namespace string
	// before is what there was without it, by kind and name.
	before []string
	// audited is how many entries the audit log had before it.
	audited int
}

// deploy installs a flavour for the container that it is called in, which ends with neither it nor its kinds.
func deploy(ctx context.Context, overlay string) *installation {
	GinkgoHelper()
	return deployInto(ctx, system, overlay)
}

// deployInto does the same in any namespace, for a flavour that doesn't bring one.
func deployInto(ctx context.Context, namespace, overlay string) *installation {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		list := &corev1.NamespaceList{}
		g.Expect(k8s.List(ctx, list)).To(Succeed())
		for _, found := range list.Items {
			g.Expect(found.DeletionTimestamp).To(BeNil(), "namespace %s of an earlier installation is still going", found.Name)
		}
	}).WithContext(ctx).Should(Succeed())
	i := &installation{overlay: overlay, namespace: namespace, before: inventory(ctx), audited: len(audited(0))}
	DeferCleanup(func(ctx SpecContext) {
		i.undeploy(ctx)
		release(ctx) // what a spec that has failed may have left would keep the kinds from going
		if overlay != coexist {
			target.make(ctx, "uninstall")
		}
	}, NodeTimeout(deployTimeout))
	i.upgrade(ctx, target.first)
	return i
}

// upgrade installs an image in place of the one that runs, if one does, and waits for it.
func (i *installation) upgrade(ctx context.Context, image string) {
	GinkgoHelper()
	target.make(ctx, "deploy", "IMG="+image, "OVERLAY="+i.overlay, "NAMESPACE="+i.namespace)
	i.eventuallyReady(ctx, image)
}

// undeploy removes the flavour.
func (i *installation) undeploy(ctx context.Context) {
	GinkgoHelper()
	target.make(ctx, "undeploy", "OVERLAY="+i.overlay, "NAMESPACE="+i.namespace)
}

// undeployLeaving removes the flavour, and waits until there is what there was without it, and what else is expected to be left,
// by kind and name.
func (i *installation) undeployLeaving(ctx context.Context, left ...string) {
	GinkgoHelper()
	i.undeploy(ctx)
	Eventually(func() []string { return inventory(ctx) }).WithContext(ctx).Should(ConsistOf(slices.Concat(i.before, left)))
}

// eventuallyReady waits until all replicas of all Deployments run the image, and are ready.
func (i *installation) eventuallyReady(ctx context.Context, image string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		list := &appsv1.DeploymentList{}
		g.Expect(k8s.List(ctx, list, client.InNamespace(i.namespace), podLabels)).To(Succeed())
		g.Expect(list.Items).NotTo(BeEmpty())
		for _, deployment := range list.Items {
			wanted := *deployment.Spec.Replicas
			g.Expect(deployment.Name).To(HavePrefix(deploymentName))
			g.Expect(wanted).To(BeNumerically(">=", 2), "replicas")
			g.Expect(deployment.Status.ObservedGeneration).To(Equal(deployment.Generation))
			g.Expect(deployment.Status.UpdatedReplicas).To(Equal(wanted))
			g.Expect(deployment.Status.AvailableReplicas).To(Equal(wanted), describePods(ctx))
			g.Expect(deployment.Status.Replicas).To(Equal(wanted))
		}
	}).WithContext(ctx).Should(Succeed())
	for _, pod := range pods(ctx) {
		Expect(pod.Spec.Containers[0].Image).To(Equal(image))
	}
}

// pods are those of Machinist, wherever they are, without those that are going.
func pods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	return podsOf(ctx, podLabels)
}

func podsOf(ctx context.Context, options ...client.ListOption) []corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(k8s.List(ctx, list, options...)).To(Succeed())
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// managers are the pods of Machinist, and those of Cluster API if it is there.
func managers(ctx context.Context) []corev1.Pod {
	return append(pods(ctx), podsOf(ctx, client.InNamespace(coreSystem))...)
}

// describePods says what may be wrong with them.
func describePods(ctx context.Context) string {
	var text strings.Builder
	for _, pod := range managers(ctx) {
		fmt.Fprintf(&text, "Pod %s is %s\n", pod.Name, pod.Status.Phase)
		for _, condition := range pod.Status.Conditions {
			if condition.Status != corev1.ConditionTrue {
				fmt.Fprintf(&text, "  %s: %s %s\n", condition.Type, condition.Reason, condition.Message)
			}
		}
		for _, container := range pod.Status.ContainerStatuses {
			if waiting := container.State.Waiting; waiting != nil {
				fmt.Fprintf(&text, "  %s waits: %s %s\n", container.Name, waiting.Reason, waiting.Message)
			}
			if ended := container.LastTerminationState.Terminated; ended != nil {
				fmt.Fprintf(&text, "  %s has ended: %s %d %s\n", container.Name, ended.Reason, ended.ExitCode, ended.Message)
			}
		}
	}
	return text.String()
}

// logTail is how many of the last lines of each manager's pods are shown with a spec that fails. The pods are gone
// soon after.
const logTail = 100

var _ = JustAfterEach(func(ctx SpecContext) {
	if !CurrentSpecReport().Failed() || k8s == nil {
		return
	}
	clientset, err := kubernetes.NewForConfig(target.config)
	Expect(err).NotTo(HaveOccurred())
	fmt.Fprint(GinkgoWriter, describePods(ctx))
	for _, pod := range managers(ctx) {
		log, err := clientset.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: new(int64(logTail))}).DoRaw(ctx)
		fmt.Fprintf(GinkgoWriter, "the log of pod %s (error: %v):\n%s\n", pod.Name, err, log)
	}
}, NodeTimeout(eventuallyTimeout))

// restarts counts those of Machinist's containers.
func restarts(ctx context.Context) int32 {
	GinkgoHelper()
	var count int32
	for _, pod := range pods(ctx) {
		for _, container := range pod.Status.ContainerStatuses {
			count += container.RestartCount
		}
	}
	return count
}

// leader is the name of the pod that holds the Lease. That of a manager with a watch filter ends in the filter.
func leader(ctx context.Context, g Gomega, lease string) string {
	held := &coordinationv1.Lease{}
	g.Expect(k8s.Get(ctx, types.NamespacedName{Namespace: system, Name: lease}, held)).To(Succeed())
	g.Expect(held.Spec.HolderIdentity).NotTo(BeNil())
	name, _, _ := strings.Cut(*held.Spec.HolderIdentity, "_")
	g.Expect(name).NotTo(BeEmpty())
	return name
}

// may asks the API server whether the manager has a right.
func (i *installation) may(ctx context.Context, namespace, verb, group, resource string) bool {
	GinkgoHelper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: i.user(),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: group, Resource: resource,
		},
	}}
	Expect(k8s.Create(ctx, review)).To(Succeed())
	return review.Status.Allowed
}

// inventory lists the objects of all kinds in clusterWide, by kind and name.
func inventory(ctx context.Context) []string {
	GinkgoHelper()
	return inventoryOf(ctx, clusterWide)
}

// inventoryOf lists the objects of kinds, by kind and name.
func inventoryOf(ctx context.Context, kinds []schema.GroupVersionKind, options ...client.ListOption) []string {
	GinkgoHelper()
	var found []string
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		err := k8s.List(ctx, list, options...)
		if apimeta.IsNoMatchError(err) { // an older API server
			continue
		}
		Expect(err).NotTo(HaveOccurred())
		for _, item := range list.Items {
			found = append(found, kind.Kind+" "+item.Name)
		}
	}
	return found
}

// auditEvent is what we read of an entry of the audit log (audit.k8s.io/v1, kind Event).
type auditEvent struct {
	Verb, RequestURI string
	User             struct{ Username string }
	ResponseStatus   struct{ Code int }
}

// audited returns the entries of the audit log from the given number on. There are none for a cluster that isn't ours.
func audited(from int) []auditEvent {
	GinkgoHelper()
	if target.audit == "" {
		return nil
	}
	file, err := os.Open(target.audit)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }() // only read
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	var events []auditEvent
	for number := 0; scanner.Scan(); number++ {
		var event auditEvent
		// The last line may be half-written.
		if number >= from && json.Unmarshal(scanner.Bytes(), &event) == nil {
			events = append(events, event)
		}
	}
	Expect(scanner.Err()).NotTo(HaveOccurred())
	return events
}

// user is who the manager is to the API server.
func (i *installation) user() string {
	return "system:serviceaccount:" + i.namespace + ":" + accountName
}

// expectNothingForbidden makes sure that the manager's roles allowed whatever it has asked for since the installation. It
// can be shown on a cluster of ours only, and skips the rest of the spec elsewhere.
func (i *installation) expectNothingForbidden() {
	GinkgoHelper()
	if target.audit == "" {
		Skip("the audit log of this cluster can't be read from here")
	}
	allowed := false
	refused := map[string]int{}
	for _, event := range audited(i.audited) {
		if event.User.Username != i.user() {
			continue
		}
		switch event.ResponseStatus.Code {
		case http.StatusOK:
			allowed = true
		case http.StatusUnauthorized, http.StatusForbidden:
			path, _, _ := strings.Cut(event.RequestURI, "?")
			refused[event.Verb+" "+path]++
		}
	}
	Expect(refused).To(BeEmpty())
	Expect(allowed).To(BeTrue(), "the audit log shows no request of %s, so it proves nothing", i.user())
}
