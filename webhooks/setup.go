// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/machinist-dev/machinist/webhooks/conversion"
	"github.com/machinist-dev/machinist/webhooks/machine"
	"github.com/machinist-dev/machinist/webhooks/machinedrainrule"
	"github.com/machinist-dev/machinist/webhooks/references"
)

// Options say what the webhooks of an installation allow.
type Options struct {
	// MachineTaintPropagation is whether the feature of that name is on. Without it no Machine gets taints.
	MachineTaintPropagation bool

	// References say how references are judged. With mode Off none of the rules is applied that Cluster API does not have. The
	// meter is that of these rules as well.
	References references.Options
}

// Setup registers all webhooks with the webhook server of the manager, which serves them on every replica, whether it
// leads or not.
func Setup(mgr ctrl.Manager, o Options) error {
	options := machine.Options{
		MachineTaintPropagation: o.MachineTaintPropagation, WithoutReferenceRules: o.References.Mode == references.Off, Meter: o.References.Meter,
	}
	if err := machine.SetupWithManager(mgr, options); err != nil {
		return fmt.Errorf("setting up the webhooks of Machine: %w", err)
	}
	if err := machinedrainrule.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the webhook of MachineDrainRule: %w", err)
	}
	if err := references.SetupWithManager(mgr, o.References); err != nil {
		return fmt.Errorf("setting up the webhook of references: %w", err)
	}
	if err := conversion.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the conversion of v1beta1: %w", err)
	}
	return nil
}
