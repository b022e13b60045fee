// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/webhooks/meter"
)

// Options say what an installation allows.
type Options struct {
	// MachineTaintPropagation is whether the feature of that name is on. Without it no Machine gets taints.
	MachineTaintPropagation bool

	// WithoutReferenceRules turns off R3, R12, R18 and R18a for all Machines.
	WithoutReferenceRules bool

	// Meter counts what comes of these rules. Required.
	Meter *meter.Meter
}

// SetupWithManager registers defaulter and validator with the webhook server of the manager.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	if o.Meter == nil {
		return errors.New("the webhooks of Machine need something that counts: set Options.Meter")
	}
	return ctrl.NewWebhookManagedBy(mgr, &clusterv1.Machine{}).
		WithDefaulter(Defaulter{}).
		WithValidator(&Validator{Options: o}).
		WithLogConstructor(admission.DefaultLogConstructor). // the keys that webhooks/references logs with
		Complete()
}
