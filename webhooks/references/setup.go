// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/machinist-dev/machinist/webhooks/meter"
)

// The paths that the webhook server answers at; config/webhook/references.yaml has what is sent to them.
const (
	// Path is that of all rules.
	Path = "/validate-references-cluster-x-k8s-io-v1beta2-machine"
	// OlderPath is that of the one rule about what API version v1beta1 has and v1beta2 hasn't.
	OlderPath = "/validate-references-cluster-x-k8s-io-v1beta1-machine"
)

// Options configure the validation of references.
type Options struct {
	// Mode is required.
	Mode Mode
	// Machines finds Machines by what they reference. Required unless the mode is Off.
	Machines Machines
	// Namespace is the only one whose Machines are judged, as that of the manager's cache; empty means all.
	Namespace string
	// Meter counts what comes of the rules. Required.
	Meter *meter.Meter
}

// SetupWithManager makes the webhook server of the manager answer, in every replica, whether it leads or not. With mode Off
// it answers, too, as long as it is asked: that everything is allowed.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	if err := o.Mode.Validate(); err != nil {
		return fmt.Errorf("the mode of the validation of references: %w", err)
	}
	if o.Meter == nil {
		return errors.New("validation of references needs something that counts: set Options.Meter")
	}
	v := &validator{mode: o.Mode, namespace: o.Namespace, meter: o.Meter}
	if o.Mode != Off {
		if o.Machines == nil {
			return fmt.Errorf("validation of references in mode %s needs something that finds Machines: set Options.Machines", o.Mode)
		}
		l, err := newLookups(mgr, o)
		if err != nil {
			return err
		}
		v.lookups = l
	}
	server := mgr.GetWebhookServer()
	for path, handler := range map[string]*validator{Path: v.with(rules, decode), OlderPath: v.with(olderRules, decodeOlder)} {
		server.Register(path, &webhook.Admission{Handler: handler})
	}
	return nil
}
