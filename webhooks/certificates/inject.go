// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Target is an object by which the API server finds webhooks.
type Target struct {
	kind schema.GroupVersionKind
	name string
}

// String returns kind and name.
func (t Target) String() string { return t.kind.Kind + " " + t.name }

// MutatingWebhookConfiguration returns the target of that name.
func MutatingWebhookConfiguration(name string) Target {
	return Target{admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"), name}
}

// ValidatingWebhookConfiguration returns the target of that name.
func ValidatingWebhookConfiguration(name string) Target {
	return Target{admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"), name}
}

// CustomResourceDefinition returns the target of that name: <plural>.<group>.
func CustomResourceDefinition(name string) Target {
	return Target{schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, name}
}

// memory is which version of a target was found, or left, with the bundle, so that an unchanged one need not be read whole: a
// CustomResourceDefinition has some hundred kilobytes.
type memory struct {
	bundle   []byte
	versions map[Target]string
}

// knows reports whether that version of the target is known to hold the bundle.
func (m *memory) knows(target Target, version string, bundle []byte) bool {
	return bytes.Equal(m.bundle, bundle) && m.versions[target] == version
}

func (m *memory) remember(target Target, version string, bundle []byte) {
	if !bytes.Equal(m.bundle, bundle) {
		*m = memory{bundle: bundle, versions: map[Target]string{}}
	}
	m.versions[target] = version
}

// inject writes the bundle to a target where that names the Service, and reports whether something had to be changed. Other
// webhooks in it are somebody else's.
func (k *Keeper) inject(ctx context.Context, target Target, bundle []byte) (bool, error) {
	key := client.ObjectKey{Name: target.name}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(target.kind)
	if err := k.client.Get(ctx, key, metadata); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading %s: %w", target, err)
	}
	if k.injected.knows(target, metadata.ResourceVersion, bundle) {
		return false, nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(target.kind)
	if err := k.client.Get(ctx, key, object); err != nil {
		return false, fmt.Errorf("reading %s: %w", target, err)
	}
	before := object.DeepCopy()
	changed := setBundle(object.Object, k.options.Service, bundle)
	if changed {
		if err := k.upToDate(ctx); err != nil {
			return false, err
		}
		// A patch of a list holds all of it, and must not undo what others do to it.
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := k.client.Patch(ctx, object, patch); apierrors.IsConflict(err) {
			return false, errLost
		} else if err != nil {
			return false, fmt.Errorf("writing the CA bundle of %s: %w", target, err)
		}
		log.FromContext(ctx).Info("Told the API server whom to trust", "target", target.String())
	}
	k.injected.remember(target, object.GetResourceVersion(), bundle)
	return changed, nil
}

// setBundle sets the bundle wherever the Service is called, and reports whether it was another one somewhere.
func setBundle(object map[string]any, service types.NamespacedName, bundle []byte) bool {
	encoded := base64.StdEncoding.EncodeToString(bundle)
	changed := false
	for _, clientConfig := range clientConfigs(object) {
		called, _ := clientConfig["service"].(map[string]any) // nil if it is called by URL
		if called["name"] != service.Name || called["namespace"] != service.Namespace || clientConfig["caBundle"] == encoded {
			continue
		}
		clientConfig["caBundle"] = encoded
		changed = true
	}
	return changed
}

// clientConfigs returns those of a webhook configuration, or of a CustomResourceDefinition; they can be changed in place.
func clientConfigs(object map[string]any) []map[string]any {
	var found []map[string]any
	add := func(holder any) {
		if webhook, ok := holder.(map[string]any); ok {
			if clientConfig, ok := webhook["clientConfig"].(map[string]any); ok {
				found = append(found, clientConfig)
			}
		}
	}
	webhooks, _ := object["webhooks"].([]any)
	for _, webhook := range webhooks {
		add(webhook)
	}
	conversion, _, _ := unstructured.NestedFieldNoCopy(object, "spec", "conversion", "webhook")
	add(conversion)
	return found
}
