// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
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
}

func (i installation) String() string {
	if i.flavour == "" {
		return "a flavour that it doesn't tell, in namespace " + i.namespace
	}
	return fmt.Sprintf("flavour %s in namespace %s", i.flavour, i.namespace)
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

// isOf says whether the installation may be of a flavour.
func (i installation) isOf(wanted installation) bool {
	return i.namespace == wanted.namespace && (i.flavour == wanted.flavour || i.flavour == "" || wanted.flavour == "")
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
	return installation{deployments[0].Labels[flavourLabel], deployments[0].Namespace}, true
}

// installed returns the installations that the cluster has, each once. What tells of them are the Deployments, and the
// webhook configuration, of which there is one in a cluster: it is what comes last, and goes last.
func installed(ctx context.Context, cluster kubectl) ([]installation, error) {
	var deployments metav1.PartialObjectMetadataList
	if err := cluster.get(ctx, &deployments, "deployments.apps", "--all-namespaces", "--output=json",
		"--selector=app.kubernetes.io/name=machinist,control-plane=controller-manager"); err != nil {
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
	add := func(labels map[string]string, namespace string) {
		i := installation{labels[flavourLabel], namespace}
		if i.flavour == "" && namespace != usualNamespace {
			i.flavour = elsewhere
		}
		if !slices.Contains(found, i) {
			found = append(found, i)
		}
	}
	for _, deployment := range deployments.Items {
		add(deployment.Labels, deployment.Namespace)
	}
	if len(configuration.Webhooks) > 0 {
		add(configuration.Labels, configuration.Webhooks[0].ClientConfig.Service.Namespace)
	}
	return found, nil
}

// refuseOtherFlavour returns an error if another flavour is installed, or the same elsewhere. All have the same names, so that one
// replaces parts of the other, and leaves the rest: a second manager of the same Machines, or rights that nobody needs.
func refuseOtherFlavour(ctx context.Context, cluster kubectl, m manifests, log io.Writer) error {
	wanted, found := m.installation()
	if !found {
		return nil
	}
	all, err := installed(ctx, cluster)
	if err != nil {
		return err
	}
	for _, i := range all {
		if !i.isOf(wanted) {
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
	wanted, found := m.installation()
	if !found {
		return nil
	}
	all, err := installed(ctx, cluster)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(all), func(i installation) bool { return i.isOf(wanted) })
	var are, commands []string
	for _, i := range others {
		are = append(are, i.String())
		commands = append(commands, "make undeploy "+i.options())
	}
	switch {
	case len(others) == 0:
		return nil
	case len(others) < len(all): // somebody has applied one over the other
		fmt.Fprintf(log, "preflight: there is also %s, which stays: %s\n", strings.Join(are, ", and "), strings.Join(commands, ", and "))
		return nil
	default:
		return fmt.Errorf("nothing was changed, as Machinist is installed in %s, and not in %s: %s",
			strings.Join(are, ", and "), wanted, strings.Join(commands, ", and "))
	}
}
