// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package nodesync

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// Rules tell which parts of a Machine its Node gets. The zero value has what every Node gets: labels and annotations of
// the domains that are there for it, but no taints.
type Rules struct {
	labels, annotations []*regexp.Regexp
	taints              bool
}

// NewRules returns rules by which a Node also gets the labels and annotations whose whole key, with its domain, matches one
// of the expressions somewhere; and the taints of the Machine, if they are asked for. The error names each expression that
// is none.
func NewRules(labels, annotations []string, taints bool) (Rules, error) {
	compiledLabels, errLabels := compile("labels", labels)
	compiledAnnotations, errAnnotations := compile("annotations", annotations)
	return Rules{labels: compiledLabels, annotations: compiledAnnotations, taints: taints}, errors.Join(errLabels, errAnnotations)
}

func compile(of string, expressions []string) ([]*regexp.Regexp, error) {
	var compiled []*regexp.Regexp
	var errs []error
	for _, expression := range expressions {
		r, err := regexp.Compile(expression)
		if err != nil {
			errs = append(errs, fmt.Errorf("expressions for %s: %q is no regular expression: %w", of, expression, err))
			continue
		}
		compiled = append(compiled, r)
	}
	return compiled, errors.Join(errs...)
}

// Want is what a Node must have because of its Machine.
type Want struct {
	labels, annotations map[string]string
	taints              []clusterv1.MachineTaint
	propagateTaints     bool

	// Interruptible says whether the infrastructure may take the server away at any time; nil if that isn't known at the
	// moment, and then the label is left as it is.
	Interruptible *bool
	// OutdatedRevision says whether a rollout is about to replace the Machine; nil if that isn't known, and then the taint is
	// left as it is.
	OutdatedRevision *bool
}

// Want returns what the Machine itself says. What is known from elsewhere, the exported fields, is left nil.
func (r Rules) Want(machine *clusterv1.Machine) Want {
	want := Want{labels: map[string]string{}, annotations: map[string]string{}, propagateTaints: r.taints}
	for key, value := range machine.Labels {
		if isNodeLabel(key) || matches(r.labels, key) {
			want.labels[key] = value
		}
	}
	for key, value := range machine.Annotations {
		if !slices.Contains(bookkeeping, key) && (within(key, clusterv1.ManagedNodeAnnotationDomain) || matches(r.annotations, key)) {
			want.annotations[key] = value
		}
	}
	want.annotations[clusterv1.ClusterNameAnnotation] = machine.Spec.ClusterName
	want.annotations[clusterv1.ClusterNamespaceAnnotation] = machine.Namespace
	want.annotations[clusterv1.MachineAnnotation] = machine.Name
	if owner := metav1.GetControllerOfNoCopy(machine); owner != nil {
		want.annotations[clusterv1.OwnerKindAnnotation] = owner.Kind
		want.annotations[clusterv1.OwnerNameAnnotation] = owner.Name
	}
	if r.taints {
		want.taints = machine.Spec.Taints
	}
	return want
}

// origin are the annotations that tell where a Node comes from. They are ours without being listed anywhere.
var origin = []string{
	clusterv1.ClusterNameAnnotation,
	clusterv1.ClusterNamespaceAnnotation,
	clusterv1.MachineAnnotation,
	clusterv1.OwnerKindAnnotation,
	clusterv1.OwnerNameAnnotation,
}

// bookkeeping are the annotations that no annotation of a Machine can set, whatever expression matches it.
var bookkeeping = append([]string{
	clusterv1.LabelsFromMachineAnnotation,
	clusterv1.AnnotationsFromMachineAnnotation,
	clusterv1.TaintsFromMachineAnnotation,
	clusterv1.SkipReferenceValidationAnnotation, // is about the admission of the Machine, and nothing else
}, origin...)

// isNodeLabel reports whether every Node gets this label of its Machine. Roles have no subdomains.
func isNodeLabel(key string) bool {
	return domainOf(key) == clusterv1.NodeRoleLabelPrefix ||
		within(key, clusterv1.NodeRestrictionLabelDomain) || within(key, clusterv1.ManagedNodeLabelDomain)
}

// within reports whether the key is in the domain or in one of its subdomains.
func within(key, domain string) bool {
	of := domainOf(key)
	return of == domain || strings.HasSuffix(of, "."+domain)
}

// domainOf is the part of a key before the slash; a key without one is taken for a domain as a whole.
func domainOf(key string) string {
	domain, _, _ := strings.Cut(key, "/")
	return domain
}

func matches(expressions []*regexp.Regexp, key string) bool {
	return slices.ContainsFunc(expressions, func(r *regexp.Regexp) bool { return r.MatchString(key) })
}
