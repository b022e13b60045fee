// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/status"
)

// clusterMissingError is the problem of every object of a Machine whose Cluster does not exist.
type clusterMissingError struct{ cluster types.NamespacedName }

func (e clusterMissingError) Error() string {
	return fmt.Sprintf("Cluster %s does not exist: create it, or delete the Machine", e.cluster)
}

// contractFields are the getters that both kinds of provider object have.
type contractFields interface {
	Conditions() ([]contract.Condition, bool)
	DeprecatedConditions() ([]contract.DeprecatedCondition, bool)
	FailureReason() (string, bool)
	FailureMessage() (string, bool)
	Findings() []accessor.Finding
}

// origin tells how the object of one role is found and read.
type origin[T contractFields] struct {
	kind          external.Kind
	name          string
	conditionType string
	wrap          func(*external.Object) (T, error)
}

// readProvided finds the object that the Machine references, makes it the Machine's own, and reads it through the
// facade. What keeps the object from being used ends up in the result; only what should be retried is an error.
func readProvided[T contractFields](ctx context.Context, tracker *external.Tracker, s *scope, from origin[T]) (provided[T], error) {
	var p provided[T]
	if s.cluster == nil && !s.isDeleting() {
		p.problem = clusterMissingError{s.clusterKey()}
		return p, nil
	}
	object, err := tracker.Get(from.kind, types.NamespacedName{Namespace: s.machine.Namespace, Name: from.name})
	switch {
	case apierrors.IsNotFound(err):
		p.missing = true
		return p, nil
	case err != nil:
		p.problem = err
		return p, retriable(err)
	}
	object, err = tracker.EnsureOwned(ctx, object, s.ownership())
	switch {
	case errors.Is(err, external.ErrBehind):
		p.behind = true
		return p, err
	case err != nil:
		p.problem = err
		return p, retriable(err)
	}
	p.object = object
	p.fields, err = from.wrap(object)
	wrong := sortFieldErrors(err)
	p.problem, p.readyErr, p.expiryErr = wrong.fields, wrong.conditions, wrong.expiry
	if p.readyErr == nil {
		reported, _ := p.fields.Conditions()
		p.ready, p.readyErr = status.Mirror(reported, from.kind.Kind, from.conditionType)
	}
	for _, finding := range p.fields.Findings() {
		p.waiting += "; " + finding.String()
	}
	return p, nil
}

// retriable returns the error unless it is one that only a change of some object can end; such a change wakes the Machine.
func retriable(err error) error {
	var kind *external.KindError
	var owned *external.OwnedError
	if errors.As(err, &kind) || errors.As(err, &owned) {
		return nil
	}
	return err
}

// fieldProblems are what is wrong with a provider object, by what it keeps us from; nil is nothing.
type fieldProblems struct {
	// conditions keeps us from mirroring the conditions of the object.
	conditions error
	// expiry keeps us from saying when its certificates expire.
	expiry error
	// fields keeps us from using the object.
	fields error
}

func sortFieldErrors(err error) fieldProblems {
	var all accessor.FieldErrors
	if !errors.As(err, &all) {
		return fieldProblems{fields: err}
	}
	var conditions, expiry, fields accessor.FieldErrors
	for _, e := range all {
		switch e.Field {
		case "Conditions":
			conditions = append(conditions, e)
		case "CertificatesExpiry":
			expiry = append(expiry, e)
		default:
			fields = append(fields, e)
		}
	}
	return fieldProblems{conditions: orNil(conditions), expiry: orNil(expiry), fields: orNil(fields)}
}

// orNil makes no errors no error.
func orNil(errs accessor.FieldErrors) error {
	if len(errs) == 0 {
		return nil
	}
	return errs
}

// copyFailure copies the deprecated terminal failure that providers may report. It has no effect and is never cleared.
func copyFailure(s *scope, object *external.Object, fields contractFields) {
	if reason, ok := fields.FailureReason(); ok && reason != "" {
		failure := deprecatedStatus(s.machine)
		failure.FailureReason = new(clusterv1.MachineStatusError(reason))
	}
	if message, ok := fields.FailureMessage(); ok && message != "" {
		failure := deprecatedStatus(s.machine)
		gvk := object.GroupVersionKind()
		failure.FailureMessage = new(limitMessage(fmt.Sprintf("Failure detected from referenced resource %s, Kind=%s with name %q: %s",
			gvk.GroupVersion(), gvk.Kind, object.Key().Name, message)))
	}
}

func deprecatedStatus(machine *clusterv1.Machine) *clusterv1.MachineV1Beta1DeprecatedStatus {
	if machine.Status.Deprecated == nil {
		machine.Status.Deprecated = &clusterv1.MachineDeprecatedStatus{}
	}
	if machine.Status.Deprecated.V1Beta1 == nil {
		machine.Status.Deprecated.V1Beta1 = &clusterv1.MachineV1Beta1DeprecatedStatus{}
	}
	return machine.Status.Deprecated.V1Beta1
}

// limitMessage keeps to the 10240 characters that the CRD allows for a failure message.
func limitMessage(message string) string {
	const limit = 10240
	if runes := []rune(message); len(runes) > limit {
		return string(runes[:limit])
	}
	return strings.ToValidUTF8(message, "")
}
