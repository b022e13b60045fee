// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// pageSize is how many objects are asked for at a time.
const pageSize = 100

// node returns nil if there is no Node of that name.
func (d *Drainer) node(ctx context.Context, name string) (*corev1.Node, error) {
	node := &corev1.Node{}
	if err := d.Client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil //nolint:nilnil // "no Node" is an ordinary answer here
		}
		return nil, fmt.Errorf("failed to get the Node: %w", err)
	}
	return node, nil
}

// judgedPods returns the Pods of the Node with the decisions about them.
func (d *Drainer) judgedPods(ctx context.Context, subject Subject, patience time.Duration) ([]judged, error) {
	var pods []corev1.Pod
	err := eachPage(ctx, d.Client, func(page *corev1.PodList) { pods = append(pods, page.Items...) },
		client.MatchingFields{"spec.nodeName": subject.nodeName()})
	if err != nil {
		return nil, fmt.Errorf("failed to list the Pods of the Node: %w", err)
	}
	if len(pods) == 0 {
		return nil, nil
	}
	s, err := d.situation(ctx, subject, pods)
	if err != nil {
		return nil, err
	}
	s.patience = patience
	return s.judge(pods)
}

// situation reads what deciding about these Pods takes, and nothing that it doesn't. It has to be read after the Pods:
// a Pod is never older than its Namespace.
func (d *Drainer) situation(ctx context.Context, subject Subject, pods []corev1.Pod) (*situation, error) {
	s := &situation{now: subject.Now}
	rules := &clusterv1.MachineDrainRuleList{}
	if err := d.Rules.List(ctx, rules, client.InNamespace(subject.Machine.Namespace)); err != nil {
		return nil, fmt.Errorf("failed to list MachineDrainRules: %w", err)
	}
	var err error
	if s.rules, err = rulesFor(rules.Items, subject.Machine, subject.Cluster); err != nil {
		return nil, err
	}
	if len(s.rules) > 0 {
		if s.namespaces, err = d.namespaces(ctx); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(pods, saysDaemonSet) {
		s.daemonSets, err = d.daemonSets(ctx)
	}
	return s, err
}

func saysDaemonSet(pod corev1.Pod) bool {
	_, ok := daemonSetOf(&pod)
	return ok
}

func (d *Drainer) namespaces(ctx context.Context) (map[string]labels.Set, error) {
	namespaces := map[string]labels.Set{}
	err := eachPage(ctx, d.Client, func(page *corev1.NamespaceList) {
		for i := range page.Items {
			namespaces[page.Items[i].Name] = page.Items[i].Labels
		}
	})
	if err != nil {
		return nil, fmt.Errorf("failed to list Namespaces: %w", err)
	}
	return namespaces, nil
}

// daemonSets lists them all: a Node runs a Pod of most of them, so that is fewer requests than one for each Pod.
func (d *Drainer) daemonSets(ctx context.Context) (map[types.NamespacedName]bool, error) {
	daemonSets := map[types.NamespacedName]bool{}
	err := eachPage(ctx, d.Client, func(page *appsv1.DaemonSetList) {
		for i := range page.Items {
			daemonSets[client.ObjectKeyFromObject(&page.Items[i])] = true
		}
	})
	if err != nil {
		return nil, fmt.Errorf("failed to list DaemonSets: %w", err)
	}
	return daemonSets, nil
}

// listOf is a pointer to a list type, such as *corev1.PodList.
type listOf[T any] interface {
	*T
	client.ObjectList
}

// eachPage lists in pages, so that no answer of the API server gets large, and calls visit with each.
func eachPage[T any, L listOf[T]](ctx context.Context, reader client.Reader, visit func(L), options ...client.ListOption) error {
	token := ""
	for {
		page := L(new(T))
		if err := reader.List(ctx, page, slices.Concat(options, []client.ListOption{client.Limit(pageSize), client.Continue(token)})...); err != nil {
			return err
		}
		visit(page)
		if token = page.GetContinue(); token == "" {
			return nil
		}
	}
}
