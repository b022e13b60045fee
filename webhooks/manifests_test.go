// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"bytes"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

const manifests = "../config/webhook/manifests.yaml"

// TestManifests holds what the API server is told against what it is told by Cluster API.
func TestManifests(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(manifests)
	g.Expect(err).NotTo(HaveOccurred())
	documents := bytes.Split(bytes.TrimPrefix(content, []byte("---\n")), []byte("\n---\n"))
	g.Expect(documents).To(HaveLen(2))
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	g.Expect(yaml.UnmarshalStrict(documents[0], &mutating)).To(Succeed())
	g.Expect(yaml.UnmarshalStrict(documents[1], &validating)).To(Succeed())
	g.Expect(mutating.Name).To(Equal("mutating-webhook-configuration"), "kustomize adds the prefix")
	g.Expect(validating.Name).To(Equal("validating-webhook-configuration"), "kustomize adds the prefix")

	found := map[string]bool{}
	for _, hook := range mutating.Webhooks {
		found[hook.Name] = true
		// Both kinds have the same fields but for one, which is not set.
		g.Expect(hook.ReinvocationPolicy).To(BeNil())
		g.Expect(admissionregistrationv1.ValidatingWebhook{
			Name: hook.Name, ClientConfig: hook.ClientConfig, Rules: hook.Rules, FailurePolicy: hook.FailurePolicy, MatchPolicy: hook.MatchPolicy,
			NamespaceSelector: hook.NamespaceSelector, ObjectSelector: hook.ObjectSelector, SideEffects: hook.SideEffects,
			TimeoutSeconds: hook.TimeoutSeconds, AdmissionReviewVersions: hook.AdmissionReviewVersions, MatchConditions: hook.MatchConditions,
		}).To(Equal(compatible(hook.Name, "/mutate-cluster-x-k8s-io-v1beta2-machine", "machines")))
	}
	paths := map[string][2]string{
		"validation.machine.cluster.x-k8s.io":          {"/validate-cluster-x-k8s-io-v1beta2-machine", "machines"},
		"validation.machinedrainrule.cluster.x-k8s.io": {"/validate-cluster-x-k8s-io-v1beta2-machinedrainrule", "machinedrainrules"},
	}
	for _, hook := range validating.Webhooks {
		found[hook.Name] = true
		g.Expect(hook).To(Equal(compatible(hook.Name, paths[hook.Name][0], paths[hook.Name][1])))
	}
	g.Expect(found).To(And(HaveLen(3), HaveKey("default.machine.cluster.x-k8s.io"),
		HaveKey("validation.machine.cluster.x-k8s.io"), HaveKey("validation.machinedrainrule.cluster.x-k8s.io")))
}

// compatible is how Cluster API registers a webhook.
func compatible(name, path, resource string) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name: name,
		ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
			Name: "webhook-service", Namespace: "system", Path: &path,
		}},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{"cluster.x-k8s.io"}, APIVersions: []string{"v1beta2"}, Resources: []string{resource},
			},
		}},
		FailurePolicy:           new(admissionregistrationv1.Fail),
		MatchPolicy:             new(admissionregistrationv1.Equivalent),
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"},
	}
}
