// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// The three things that can happen to a Pod.
const (
	evictIt   = clusterv1.MachineDrainRuleDrainBehaviorDrain
	skipIt    = clusterv1.MachineDrainRuleDrainBehaviorSkip
	waitForIt = clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted
)

// rule is a MachineDrainRule that selects the Machine, with its selectors parsed.
type rule struct {
	name     string
	behavior clusterv1.MachineDrainRuleDrainBehavior
	// order is 0 unless the behavior is Drain.
	order int32
	// pods is empty if the rule selects every Pod.
	pods []pair
}

// pair is one entry of spec.machines or spec.pods: two selectors that both have to match.
type pair struct {
	// object is for the labels of the Machine, or of the Pod.
	object labels.Selector
	// owner is for the labels of what it belongs to: the Cluster of the Machine, or the Namespace of the Pod.
	owner labels.Selector
}

// rulesFor returns the rules that select the Machine, in the order in which they are tried: by name. The rules have to
// be those of the Machine's namespace. A selector that can't be parsed is an error, whether its rule would apply or not:
// with a mistake in it nobody knows what the rule is meant for. The Cluster may be nil; it has no labels then.
func rulesFor(all []clusterv1.MachineDrainRule, machine *clusterv1.Machine, cluster *clusterv1.Cluster) ([]rule, error) {
	machineLabels, clusterLabels := labels.Set(machine.Labels), labels.Set(nil)
	if cluster != nil {
		clusterLabels = cluster.Labels
	}
	var rules []rule
	for i := range all {
		spec := &all[i].Spec
		machines, err := machinePairs(spec.Machines)
		if err != nil {
			return nil, fmt.Errorf("MachineDrainRule %q: %w", all[i].Name, err)
		}
		pods, err := podPairs(spec.Pods)
		if err != nil {
			return nil, fmt.Errorf("MachineDrainRule %q: %w", all[i].Name, err)
		}
		if !anyMatches(machines, machineLabels, clusterLabels) {
			continue
		}
		r := rule{name: all[i].Name, behavior: spec.Drain.Behavior, pods: pods}
		if order := spec.Drain.Order; order != nil && r.behavior == evictIt {
			r.order = *order
		}
		rules = append(rules, r)
	}
	slices.SortFunc(rules, func(a, b rule) int { return cmp.Compare(a.name, b.name) })
	return rules, nil
}

func (r *rule) selects(pod, namespace labels.Set) bool { return anyMatches(r.pods, pod, namespace) }

// anyMatches is true without entries: not to select is to select all.
func anyMatches(pairs []pair, object, owner labels.Set) bool {
	return len(pairs) == 0 || slices.ContainsFunc(pairs, func(p pair) bool {
		return p.object.Matches(object) && p.owner.Matches(owner)
	})
}

func machinePairs(entries []clusterv1.MachineDrainRuleMachineSelector) ([]pair, error) {
	pairs := make([]pair, 0, len(entries))
	for i, entry := range entries {
		p, err := newPair(entry.Selector, entry.ClusterSelector)
		if err != nil {
			return nil, fmt.Errorf("spec.machines[%d]: %w", i, err)
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

func podPairs(entries []clusterv1.MachineDrainRulePodSelector) ([]pair, error) {
	pairs := make([]pair, 0, len(entries))
	for i, entry := range entries {
		p, err := newPair(entry.Selector, entry.NamespaceSelector)
		if err != nil {
			return nil, fmt.Errorf("spec.pods[%d]: %w", i, err)
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

func newPair(object, owner *metav1.LabelSelector) (pair, error) {
	objects, err := parseSelector(object)
	if err != nil {
		return pair{}, err
	}
	owners, err := parseSelector(owner)
	return pair{object: objects, owner: owners}, err
}

// parseSelector makes a selector that is not set match everything; apimachinery lets it match nothing.
func parseSelector(selector *metav1.LabelSelector) (labels.Selector, error) {
	if selector == nil {
		return labels.Everything(), nil
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("invalid selector: %w", err)
	}
	return parsed, nil
}
