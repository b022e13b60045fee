// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ours are the kinds that the manager can't be without, whoever defines them.
var ours = []schema.GroupVersionKind{
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineDrainRule"},
}

// prerequisites say what brings the kinds of a group, as in docs/install.md. Those of other groups are Kubernetes's.
var prerequisites = map[string]string{
	"cert-manager.io":       "cert-manager v1.19 or newer",
	"cluster.x-k8s.io":      "Cluster API v1.14",
	"monitoring.coreos.com": "Prometheus Operator",
}

// spoils says what a target of make would do to the CustomResourceDefinitions of Cluster API, and what to do instead. Undeploy is
// not among them: it leaves these alone, as somebody may have installed Cluster API over Machinist, and has to get rid of that.
var spoils = map[string]string{
	"install":   "replace: Machinist works with them, in the flavour coexist, and there is nothing to install before it",
	"uninstall": "delete, with every Machine and Cluster: leave them to Cluster API",
	"deploy":    "replace: use OVERLAY=coexist",
}

// refuseForeignDefinitions keeps CustomResourceDefinitions from replacing those of Cluster API: with them would go their other
// versions, and their conversion.
func refuseForeignDefinitions(ctx context.Context, cluster kubectl, m manifests, target string) error {
	if !slices.ContainsFunc(m, func(o object) bool { return o.isDefinition() }) {
		return nil
	}
	var list metav1.PartialObjectMetadataList
	if err := cluster.get(ctx, &list, "customresourcedefinitions", "--selector=cluster.x-k8s.io/provider=cluster-api", "--output=json"); err != nil {
		return err
	}
	if len(list.Items) > 0 {
		return fmt.Errorf("the cluster of KUBECONFIG has the CRDs of Cluster API, which make %s would %s", target, spoils[target])
	}
	return nil
}

// refuseWithoutNeeds returns an error that lists the kinds and namespaces that manifests need, neither they nor the cluster
// have, and what brings them.
func refuseWithoutNeeds(ctx context.Context, cluster kubectl, m manifests) error {
	kinds, err := m.neededKinds()
	if err != nil {
		return err
	}
	served, err := cluster.served(ctx, kinds)
	if err != nil {
		return err
	}
	var lacking []string
	for _, kind := range kinds {
		if !served[kind] {
			what := "a Kubernetes that serves it"
			if brings, known := prerequisites[kind.Group]; known {
				what = "install " + brings
			}
			lacking = append(lacking, fmt.Sprintf("kind %s of %s: %s", kind.Kind, kind.GroupVersion(), what))
		}
	}
	unusable, err := unusableNamespaces(ctx, cluster, m)
	if err != nil {
		return err
	}
	lacking = append(lacking, unusable...)
	if len(lacking) == 0 {
		return nil
	}
	return errors.New("nothing was changed, as the cluster of KUBECONFIG lacks what is needed:\n  " + strings.Join(lacking, "\n  "))
}

// neededKinds are those of the manifests, and those that the manager can't be without, but for what the manifests define.
func (m manifests) neededKinds() ([]schema.GroupVersionKind, error) {
	var needed, defined []schema.GroupVersionKind
	if len(m.deployments()) > 0 {
		needed = slices.Clone(ours)
	}
	for _, o := range m {
		if kind := o.GroupVersionKind(); !slices.Contains(needed, kind) {
			needed = append(needed, kind)
		}
		if o.isDefinition() {
			kinds, err := o.defines()
			if err != nil {
				return nil, err
			}
			defined = append(defined, kinds...)
		}
	}
	return slices.DeleteFunc(needed, func(kind schema.GroupVersionKind) bool { return slices.Contains(defined, kind) }), nil
}

// unusableNamespaces says of each namespace where there is to be something why that can't be, if it can't.
func unusableNamespaces(ctx context.Context, cluster kubectl, m manifests) ([]string, error) {
	var found []string
	brought, asked := map[string]bool{}, map[string]bool{}
	for _, o := range m {
		name := o.Namespace
		if o.is("", "Namespace") {
			name = o.Name
			brought[name] = true
		}
		if name == "" || asked[name] {
			continue
		}
		asked[name] = true
		var namespace metav1.PartialObjectMetadata
		if err := cluster.get(ctx, &namespace, "namespace", name, "--ignore-not-found", "--output=json"); err != nil {
			return nil, err
		}
		switch {
		case namespace.DeletionTimestamp != nil:
			found = append(found, fmt.Sprintf("namespace %s: it is being deleted, wait until it is gone", name))
		case namespace.Name == "" && !brought[name]:
			found = append(found, fmt.Sprintf("namespace %s: kubectl create namespace %s", name, name))
		}
	}
	return found, nil
}

// printDeletable prints what make undeploy deletes.
func printDeletable(ctx context.Context, cluster kubectl, m manifests, out io.Writer) error {
	var kinds []schema.GroupVersionKind
	for _, o := range m {
		kinds = append(kinds, o.GroupVersionKind())
	}
	served, err := cluster.served(ctx, kinds)
	if err != nil {
		return err
	}
	for _, o := range m {
		if !o.isDefinition() && served[o.GroupVersionKind()] {
			if _, err := fmt.Fprintf(out, "---\n%s", o.text); err != nil {
				return err
			}
		}
	}
	return nil
}
