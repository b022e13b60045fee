// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
)

var providerVerbs = []string{"get", "list", "watch", "patch", "delete"}

var _ = It("Machines of a kind without access say so and hold up nobody, and go on when it is granted", func(ctx SpecContext) {
	p := newPlace(ctx)
	denied, other := p.kind("denied"), p.kind("other")
	denied.install()
	other.install()
	u := newUser(ctx, p.namespace)
	u.grant(ctx, "other", rule(other.Group, "testmachines", providerVerbs...))
	startManagerWith(u.config(), managerOptions(p.namespace))
	failing := p.machines(ctx, denied, 10)
	p.expectUsualSpeed(ctx, other)

	reason := fmt.Sprintf("testmachines.%s is forbidden: User %q cannot list resource \"testmachines\" in API group %q in the namespace %q", denied.Group, u.name, denied.Group, p.namespace)
	p.expectUnreadable(ctx, failing, unreadable(denied, newAPI, reason))

	u.grant(ctx, "denied", rule(denied.Group, "testmachines", providerVerbs...))
	p.expectRecovered(ctx, denied, failing)
})

var _ = It("Machines of a kind that the API server can't convert say so and hold up nobody, and go on when it can", func(ctx SpecContext) {
	p := newPlace(ctx)
	broken, other := p.kind("broken"), p.kind("other")
	broken.install(labelled(oldContract, oldAPI))
	other.install()
	broken.create(ctx, p.namespace, "stored-at-the-new-version", object{"spec": object{}})
	url := "https://" + suite.FreeAddress(ctx).String() + "/convert"
	broken.update(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url}, ConversionReviewVersions: []string{"v1"},
			},
		}
	})
	Eventually(func() error {
		_, err := broken.at(oldAPI).client(p.namespace).Get(ctx, "stored-at-the-new-version", metav1.GetOptions{})
		return err
	}).WithContext(ctx).Should(MatchError(ContainSubstring("conversion webhook")))
	startManager(p.namespace)
	failing := p.machines(ctx, broken, 10)
	p.expectUsualSpeed(ctx, other)
	p.expectUnreadable(ctx, failing, SatisfyAll(
		HavePrefix(fmt.Sprintf("TestMachine: Objects of TestMachine.%s can't be listed and watched at API version %s: ", broken.Group, oldAPI)),
		ContainSubstring("conversion webhook for "+broken.Group),
		HaveSuffix("; this is retried until it succeeds"),
	))

	broken.update(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	})
	p.expectRecovered(ctx, broken, failing)
})

var _ = It("Machines of a kind that can no longer be watched say so, once, also while it can be listed, and go on when it can", func(ctx SpecContext) {
	p := newPlace(ctx)
	withdrawn, other := p.kind("withdrawn"), p.kind("other")
	withdrawn.install()
	other.install()
	u := newUser(ctx, p.namespace)
	u.grant(ctx, "other", rule(other.Group, "testmachines", providerVerbs...))
	u.grant(ctx, "withdrawn", rule(withdrawn.Group, "testmachines", providerVerbs...))
	startManagerWith(u.config(), managerOptions(p.namespace))
	failing := p.machines(ctx, withdrawn, 10)
	for _, name := range failing {
		p.eventually(ctx, name, haveInfrastructureReady(metav1.ConditionFalse, "ObjectDoesNotExist", "TestMachine does not exist"))
	}

	u.grant(ctx, "withdrawn", rule(withdrawn.Group, "testmachines", "get", "list", "patch", "delete"))
	Eventually(func() error {
		watch, err := withdrawn.clientOf(u.config(), p.namespace).Watch(ctx, metav1.ListOptions{})
		if err == nil {
			watch.Stop()
		}
		return err
	}).WithContext(ctx).Should(MatchError(apierrors.IsForbidden, "Forbidden"))
	u.cut()
	p.expectUsualSpeed(ctx, other)
	reason := fmt.Sprintf("testmachines.%s is forbidden: User %q cannot watch resource \"testmachines\" in API group %q in the namespace %q", withdrawn.Group, u.name, withdrawn.Group, p.namespace)
	p.expectUnreadable(ctx, failing, unreadable(withdrawn, newAPI, reason))

	u.grant(ctx, "withdrawn", rule(withdrawn.Group, "testmachines", providerVerbs...))
	p.expectRecovered(ctx, withdrawn, failing)
})

// unreadable is what a Machine says of a kind for a reason that the API server gives.
func unreadable(of kind, apiVersion, reason string) OmegaMatcher {
	return Equal(fmt.Sprintf("TestMachine: Objects of TestMachine.%s can't be listed and watched at API version %s: %s; this is retried until it succeeds", of.Group, apiVersion, reason))
}

// machines creates a number of Machines of a kind, and returns their names.
func (p *place) machines(ctx context.Context, of kind, count int) []string {
	GinkgoHelper()
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("m-%d", i))
		p.machine(ctx, of, names[i])
	}
	return names
}

// usualSpeed is how long a Machine may take from its creation until it runs, when its server runs already. There is one
// worker: if it waited for the failing kind once, this would take longer.
const usualSpeed = 5 * time.Second

// expectUsualSpeed runs a Machine of a kind that works.
func (p *place) expectUsualSpeed(ctx context.Context, of kind) {
	GinkgoHelper()
	p.server(ctx, of, "other")
	begin := time.Now()
	p.machine(ctx, of, "other")
	p.eventually(ctx, "other", HaveField("Status.Phase", string(clusterv1.MachinePhaseRunning)))
	Expect(time.Since(begin)).To(BeNumerically("<", usualSpeed))
}

// putOff is how long it may take until a kind is called unreadable: an API server that can't convert it says that it is busy,
// which usually passes.
const putOff = 45 * time.Second

// expectUnreadable waits until all Machines say why their kind can't be read, and makes sure that they say it once.
func (p *place) expectUnreadable(ctx context.Context, names []string, message OmegaMatcher) {
	GinkgoHelper()
	for _, name := range names {
		Eventually(p.get(ctx, name)).WithContext(ctx).WithTimeout(putOff).Should(haveInfrastructureReady(metav1.ConditionUnknown, "KindNotSynced", message))
	}
	for _, name := range names {
		Eventually(p.warnings(ctx, name)).WithContext(ctx).Should(ConsistOf(warning("KindNotSynced", message)))
	}
	// Long enough for the reflector to try again, as it has just failed for the first times.
	said, lines := quiet(ctx), logs.lines.Load()
	Consistently(manager.Reconciles).WithContext(ctx).WithTimeout(3 * time.Second).Should(Equal(said))
	Expect(logs.lines.Load()-lines).To(BeZero(), "what was said in a condition, an event and the log is not said again")
	for _, name := range names {
		Expect(p.warnings(ctx, name)(Default)).To(HaveLen(1))
	}
}

// pause is how long client-go's reflector may rest after failures, when there have been many.
const pause = time.Minute

// expectRecovered gives the Machines their servers and waits until they run.
func (p *place) expectRecovered(ctx context.Context, of kind, names []string) {
	GinkgoHelper()
	for _, name := range names {
		p.server(ctx, of, name)
	}
	for _, name := range names {
		Eventually(p.get(ctx, name)).WithContext(ctx).WithTimeout(pause).Should(HaveField("Status.Phase", string(clusterv1.MachinePhaseRunning)))
	}
}
