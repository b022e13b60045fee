// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// errForbidden is the error of somebody who has no right to what they ask for.
var errForbidden = errors.New("forbidden")

// kubectl asks the cluster.
type kubectl struct {
	command []string  // with the arguments that each call has
	stderr  io.Writer // gets what kubectl says beside its output, when it says it: it may want somebody to log in
}

// get reads what `kubectl get` with these arguments prints as JSON. If that is nothing, as with --ignore-not-found, it leaves
// into as it is. The error is errForbidden if it is about rights; what kubectl has to say about others is on stderr.
func (k kubectl) get(ctx context.Context, into any, args ...string) error {
	var complaints bytes.Buffer
	command := exec.CommandContext(ctx, k.command[0], slices.Concat(k.command[1:], []string{"get"}, args)...)
	command.Stderr = io.MultiWriter(k.stderr, &complaints)
	output, err := command.Output()
	if err != nil {
		if strings.Contains(complaints.String(), "Error from server (Forbidden)") {
			err = errForbidden
		}
		return fmt.Errorf("%s: %w", strings.Join(command.Args, " "), err)
	}
	if len(output) == 0 {
		return nil
	}
	if err := json.Unmarshal(output, into); err != nil {
		return fmt.Errorf("reading the output of %s: %w", strings.Join(command.Args, " "), err)
	}
	return nil
}

// served returns those of the kinds that the cluster has.
func (k kubectl) served(ctx context.Context, kinds []schema.GroupVersionKind) (map[schema.GroupVersionKind]bool, error) {
	var groups metav1.APIGroupList
	if err := k.get(ctx, &groups, "--raw=/apis"); err != nil {
		return nil, err
	}
	paths := map[string]string{"v1": "/api/v1"}
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			paths[version.GroupVersion] = "/apis/" + version.GroupVersion
		}
	}
	found := map[schema.GroupVersionKind]bool{}
	asked := map[schema.GroupVersion]bool{}
	for _, kind := range kinds {
		version := kind.GroupVersion()
		path, known := paths[version.String()]
		if !known || asked[version] {
			continue
		}
		asked[version] = true
		var resources metav1.APIResourceList
		if err := k.get(ctx, &resources, "--raw="+path); err != nil {
			return nil, err
		}
		for _, resource := range resources.APIResources {
			found[version.WithKind(resource.Kind)] = true
		}
	}
	return found, nil
}
