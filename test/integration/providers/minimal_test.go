// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const someUUID = "8b7e4f5c-2f0d-4c0b-9a92-7f7a1f3d5e66"

// minimalName is what reports call the smallest object that a schema accepts.
const minimalName = "a minimal object"

// tryMinimal leads the smallest object that the schema accepts through the contract, one field after the other, and
// checks that its Machine becomes what the verdict on the definition says.
func (t *trial) tryMinimal(ctx context.Context) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(t.gvk(t.apiVersion))
	object.SetName("minimal")
	if spec := t.minimalSpec(); len(spec) > 0 {
		object.Object["spec"] = spec
	}
	s := t.add(ctx, minimalName, object)
	t.expect(ctx, s)
	if t.contract == "" {
		return
	}
	own, other := donePaths[t.Role][t.contract], donePaths[t.Role][otherContract(t.contract)]
	required, _ := minimal(t.schema("status")).(map[string]any)
	report := func(path string, value any) error {
		if !t.knows(path) {
			return nil // the API server would drop it
		}
		return s.setStatus(ctx, with(required, nested(value, strings.Split(path, ".")[1:]...)))
	}
	if t.breaks("field-type", own) {
		t.Expect(apierrors.IsInvalid(report(own, true))).To(BeTrue(), "the schema should not take a boolean at %s", own)
		return
	}

	// The field of the other contract version changes nothing. If the schema has it, the Machine says that it is there.
	t.Expect(report(other, true)).To(Succeed())
	t.expect(ctx, s)

	// Done, but it isn't said with what.
	t.Expect(report(own, true)).To(Succeed())
	t.expect(ctx, s)

	if t.Role == infraMachine {
		t.Expect(k8s.Patch(ctx, s.bare(), merge(nested(t.minimalProviderID(), "spec", "providerID")))).To(Succeed())
	} else {
		t.Expect(report("status.dataSecretName", "minimal-data")).To(Succeed())
	}
	t.expect(ctx, s)
	unusable := slices.ContainsFunc([]string{own, "spec.providerID", "status.dataSecretName"}, func(path string) bool { return t.breaks("field-missing", path) })
	t.Expect(s.want.Done).To(Equal(!unusable), "%s: what its Machine says should agree with %v", t.File, t.problems)
	s.before = t.untouchable(ctx, s)
}

// breaks reports whether one of the problems of the reading has the code and is about the path.
func (r reading) breaks(code, path string) bool {
	return slices.ContainsFunc(r.problems, func(p problem) bool { return p.Code == code && strings.HasPrefix(p.Text, path+" ") })
}

// Where the smallest value of the schema does not fulfil the rules of the definition.
var (
	minimalSpecs = map[string]map[string]any{
		"DevMachine":        {"backend": map[string]any{"docker": map[string]any{}}},
		"IonosCloudMachine": {"disk": map[string]any{"image": map[string]any{"id": someUUID}}},
		"OpenStackMachine":  {"flavorID": someUUID}, // of older API versions only
		"ProxmoxMachine":    {"sourceNode": "pve1", "templateID": int64(100)},
		"ScalewayMachine":   {"image": map[string]any{"id": someUUID}},
	}
	minimalProviderIDs = map[string]string{
		"ProxmoxMachine": "proxmox://" + someUUID,
	}
)

func (t *trial) minimalSpec() map[string]any {
	spec, _ := minimal(t.schema("spec")).(map[string]any)
	return with(spec, minimalSpecs[t.Kind])
}

func (t *trial) minimalProviderID() string {
	if id, ok := minimalProviderIDs[t.Kind]; ok {
		return id
	}
	return t.provider() + ":///minimal"
}

// schema returns the part of the schema of the reading's API version that is under the key.
func (t *trial) schema(key string) apiextensionsv1.JSONSchemaProps {
	i := slices.IndexFunc(t.crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == t.apiVersion })
	return t.crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties[key]
}

// knows reports whether the schema has the path.
func (t *trial) knows(path string) bool {
	keys := strings.Split(path, ".")
	at := t.schema(keys[0])
	for _, key := range keys[1:] {
		next, ok := at.Properties[key]
		if !ok {
			return false
		}
		at = next
	}
	return true
}

// minimal returns a small value that the schema accepts: of an object it has what is required and has no default, and
// more only if the object must have more.
func minimal(s apiextensionsv1.JSONSchemaProps) any {
	switch {
	case len(s.Enum) > 0:
		return decode(s.Enum[0].Raw)
	case s.XIntOrString:
		return int64(1)
	}
	switch s.Type {
	case "object":
		object := map[string]any{}
		for _, key := range s.Required {
			if member := s.Properties[key]; member.Default == nil {
				object[key] = minimal(member)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
			if int64(len(object)) < valueOf(s.MinProperties) && object[key] == nil {
				object[key] = minimal(s.Properties[key])
			}
		}
		return object
	case "array":
		list := []any{}
		for range valueOf(s.MinItems) {
			list = append(list, minimal(*s.Items.Schema))
		}
		return list
	case "integer", "number":
		if s.Minimum != nil {
			return int64(*s.Minimum)
		}
		return int64(0)
	case "boolean":
		return false
	default:
		if s.Format == "uuid" {
			return someUUID
		}
		return "minimal"
	}
}

func decode(raw []byte) (value any) {
	if err := json.Unmarshal(raw, &value); err != nil {
		panic(err) // the API server has it from JSON
	}
	return value
}

func valueOf(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
