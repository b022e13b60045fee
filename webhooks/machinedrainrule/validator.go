// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedrainrule

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/webhooks/ratchet"
)

// +kubebuilder:webhook:path=/validate-cluster-x-k8s-io-v1beta2-machinedrainrule,mutating=false,name=validation.machinedrainrule.cluster.x-k8s.io,groups=cluster.x-k8s.io,versions=v1beta2,resources=machinedrainrules,verbs=create;update,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,admissionReviewVersions=v1

// Validator refuses MachineDrainRules by the rules of Cluster API, with its texts. An error is an Invalid with every cause.
type Validator struct{}

// SetupWithManager registers the validator with the webhook server of the manager.
func SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &clusterv1.MachineDrainRule{}).WithValidator(Validator{}).Complete()
}

// ValidateCreate judges the whole rule.
func (Validator) ValidateCreate(_ context.Context, rule *clusterv1.MachineDrainRule) (admission.Warnings, error) {
	return nil, invalid(rule, judge(&rule.Spec))
}

// ValidateUpdate judges what is changed, unless the rule is being deleted.
func (Validator) ValidateUpdate(_ context.Context, old, rule *clusterv1.MachineDrainRule) (admission.Warnings, error) {
	if !old.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return nil, invalid(rule, ratchet.Added(judge(&rule.Spec), judge(&old.Spec)))
}

// ValidateDelete allows it. It is not asked, as deletions are not registered.
func (Validator) ValidateDelete(context.Context, *clusterv1.MachineDrainRule) (admission.Warnings, error) {
	return nil, nil
}

func judge(rule *clusterv1.MachineDrainRuleSpec) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	if rule.Drain.Order != nil && rule.Drain.Behavior != clusterv1.MachineDrainRuleDrainBehaviorDrain {
		errs = append(errs, field.Invalid(spec.Child("drain", "order"), *rule.Drain.Order,
			`order must not be set if drain behavior is "Skip" or "WaitCompleted"`))
	}
	for i, machines := range rule.Machines {
		path := spec.Child("machines").Index(i)
		errs = append(errs, judgeSelector(machines.Selector, path.Child("selector"))...)
		errs = append(errs, judgeSelector(machines.ClusterSelector, path.Child("clusterSelector"))...)
	}
	for i, pods := range rule.Pods {
		path := spec.Child("pods").Index(i)
		errs = append(errs, judgeSelector(pods.Selector, path.Child("selector"))...)
		errs = append(errs, judgeSelector(pods.NamespaceSelector, path.Child("namespaceSelector"))...)
	}
	return errs
}

func judgeSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		return field.ErrorList{field.Invalid(path, selector, err.Error())}
	}
	return nil
}

func invalid(rule *clusterv1.MachineDrainRule, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(clusterv1.GroupVersion.WithKind("MachineDrainRule").GroupKind(), rule.Name, errs)
}
