// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/machinist-dev/machinist/webhooks/machine"
	"github.com/machinist-dev/machinist/webhooks/machinedrainrule"
)

// Options say what the webhooks of an installation allow.
type Options struct {
	// MachineTaintPropagation is whether the feature of that name is on. Without it no Machine gets taints.
	MachineTaintPropagation bool

	// WithoutReferenceRules turns off the rules that Cluster API does not have, R3, R12, R18 and R18a, as an installation
	// wants it whose references are not validated.
	WithoutReferenceRules bool
}

// Setup registers all webhooks with the webhook server of the manager, which serves them on every replica, whether it
// leads or not.
func Setup(mgr ctrl.Manager, o Options) error {
	options := machine.Options{MachineTaintPropagation: o.MachineTaintPropagation, WithoutReferenceRules: o.WithoutReferenceRules}
	if err := machine.SetupWithManager(mgr, options); err != nil {
		return fmt.Errorf("setting up the webhooks of Machine: %w", err)
	}
	if err := machinedrainrule.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the webhook of MachineDrainRule: %w", err)
	}
	// What looks things up, and what converts between versions, follows here.
	return nil
}
