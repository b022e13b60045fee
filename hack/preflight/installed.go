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
)

const (
	// flavourLabel is on all objects of a flavour, and names it.
	flavourLabel = "machinist.dev/flavour"
	// usualNamespace is the one that flavours bring. Only one of them can be elsewhere.
	usualNamespace, elsewhere = "machinist-system", "namespaced"
)

// installation is one of Machinist. Its flavour is empty if what is installed doesn't tell: it is of a version without the label,
// or of an overlay that takes it off.
type installation struct {
	flavour, namespace string
	deployments        []string // their names
}

func (i installation) String() string {
	flavour := "flavour " + i.flavour
	if i.flavour == "" {
		flavour = "a flavour that it doesn't tell"
		if len(i.deployments) > 0 {
			flavour += " (" + strings.Join(i.deployments, ", ") + ")"
		}
	}
	return flavour + " in namespace " + i.namespace
}

// options are those of make for it.
func (i installation) options() string {
	options := "OVERLAY=" + i.flavour
	if i.flavour == "" {
		options = "OVERLAY=..."
	}
	if i.namespace != usualNamespace {
		options += " NAMESPACE=" + i.namespace
	}
	return options
}

// isOf says whether the installation may be of a flavour, and whether of it alone. Where one of both doesn't tell its flavour, the
// names of Deployments do: somebody may have put one flavour over another.
func (i installation) isOf(wanted installation) (some, alone bool) {
	if i.namespace != wanted.namespace {
		return false, false
	}
	if i.flavour != "" && wanted.flavour != "" {
		return i.flavour == wanted.flavour, i.flavour == wanted.flavour
	}
	others := slices.DeleteFunc(slices.Clone(i.deployments), func(name string) bool { return slices.Contains(wanted.deployments, name) })
	return len(i.deployments) == 0 || len(others) < len(i.deployments), len(others) == 0
}

func (m manifests) deployments() manifests {
	return slices.DeleteFunc(slices.Clone(m), func(o object) bool { return !o.is("apps", "Deployment") })
}

// installation returns what the manifests install, and false if there is no manager among it.
func (m manifests) installation() (installation, bool) {
	deployments := m.deployments()
	if len(deployments) == 0 {
		return installation{}, false
	}
	i := installation{flavour: deployments[0].Labels[flavourLabel], namespace: deployments[0].Namespace}
	for _, deployment := range deployments {
		i.deployments = append(i.deployments, deployment.Name)
	}
	return i, true
}

// managers returns the Deployments of Machinist in the cluster. To whoever may not list those of all namespaces it returns those of one.
func managers(ctx context.Context, cluster kubectl, namespace string, log io.Writer) ([]metav1.PartialObjectMetadata, error) {
	var list metav1.PartialObjectMetadataList
	get := func(scope string) error {
		return cluster.get(ctx, &list, "deployments.apps", scope, "--output=json",
			"--selector=app.kubernetes.io/name=machinist,control-plane=controller-manager")
	}
	err := get("--all-namespaces")
	if errors.Is(err, errForbidden) {
		fmt.Fprintf(log, "preflight: looking for Deployments in namespace %s alone, as you may not list those of all namespaces\n", namespace)
		err = get("--namespace=" + namespace)
	}
	return list.Items, err
}

// installed returns the installations that the cluster has, each once. What tells of them are the Deployments, and the
// webhook configuration, of which there is one in a cluster: it is what comes last, and goes last.
func installed(ctx context.Context, cluster kubectl, namespace string, log io.Writer) ([]installation, error) {
	deployments, err := managers(ctx, cluster, namespace, log)
	if err != nil {
		return nil, err
	}
	var configuration struct {
		metav1.PartialObjectMetadata

		Webhooks []struct {
			ClientConfig struct{ Service struct{ Namespace string } }
		}
	}
	if err := cluster.get(ctx, &configuration, "validatingwebhookconfigurations.admissionregistration.k8s.io",
		"machinist-validating-webhook-configuration", "--ignore-not-found", "--output=json"); err != nil {
		return nil, err
	}
	var found []installation
	add := func(labels map[string]string, namespace string, deployments ...string) {
		flavour := labels[flavourLabel]
		if flavour == "" && namespace != usualNamespace {
			flavour = elsewhere
		}
		at := slices.IndexFunc(found, func(i installation) bool { return i.flavour == flavour && i.namespace == namespace })
		if at < 0 {
			at, found = len(found), append(found, installation{flavour: flavour, namespace: namespace})
		}
		found[at].deployments = append(found[at].deployments, deployments...)
	}
	for _, deployment := range deployments {
		add(deployment.Labels, deployment.Namespace, deployment.Name)
	}
	if len(configuration.Webhooks) > 0 {
		add(configuration.Labels, configuration.Webhooks[0].ClientConfig.Service.Namespace)
	}
	return found, nil
}

// compare returns what the manifests install, and what there is in the cluster. If there is no manager among the manifests, both are
// nothing, whatever the cluster has.
func compare(ctx context.Context, cluster kubectl, m manifests, log io.Writer) (wanted installation, all []installation, err error) {
	wanted, found := m.installation()
	if !found {
		return installation{}, nil, nil
	}
	all, err = installed(ctx, cluster, wanted.namespace, log)
	return wanted, all, err
}

// refuseOtherFlavour returns an error if another flavour is installed, or the same elsewhere. All have the same names, so that one
// replaces parts of the other, and leaves the rest: a second manager of the same Machines, or rights that nobody needs.
func refuseOtherFlavour(ctx context.Context, cluster kubectl, m manifests, log io.Writer) error {
	wanted, all, err := compare(ctx, cluster, m, log)
	if err != nil {
		return err
	}
	for _, i := range all {
		if _, alone := i.isOf(wanted); !alone {
			return fmt.Errorf("nothing was changed, as Machinist is installed in %s, of which parts would stay beside %s: "+
				"make undeploy %s first; what is stored stays", i, wanted, i.options())
		}
		if i.flavour == "" {
			fmt.Fprintf(log, "preflight: what is installed in namespace %s doesn't tell its flavour, and is taken for %s\n", i.namespace, wanted.flavour)
		}
	}
	return nil
}

// refuseMissing returns an error if something is installed, but not what the manifests install. What has no namespace has the same
// names in all flavours, and would be deleted.
func refuseMissing(ctx context.Context, cluster kubectl, m manifests, log io.Writer) error {
	wanted, all, err := compare(ctx, cluster, m, log)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(all), func(i installation) bool {
		some, _ := i.isOf(wanted)
		return some
	})
	var are, commands []string
	for _, i := range others {
		are = append(are, i.String())
		commands = append(commands, "make undeploy "+i.options())
	}
	switch {
	case len(others) == 0:
		return nil
	case len(others) < len(all): // somebody has applied one over the other
		fmt.Fprintf(log, "preflight: there is also %s, which loses what both have in common, and has to go as well: %s\n",
			strings.Join(are, ", and "), strings.Join(commands, ", and "))
		return nil
	default:
		return fmt.Errorf("nothing was changed, as Machinist is installed in %s, and not in %s: %s",
			strings.Join(are, ", and "), wanted, strings.Join(commands, ", and "))
	}
}
