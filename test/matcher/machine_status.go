// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package matcher holds Gomega matchers for Machines.
package matcher

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// HaveValidStatus succeeds if the API server would accept the status of a *Machine: it is held against the schema of our
// CustomResourceDefinition by the code that the API server uses, so lengths are counted as they are counted there.
func HaveValidStatus() types.GomegaMatcher {
	return gomega.WithTransform(func(machine *clusterv1.Machine) (field.ErrorList, error) {
		validator, err := statusValidator()
		if err != nil {
			return nil, err
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(machine)
		if err != nil {
			return nil, err
		}
		return validation.ValidateCustomResource(field.NewPath("status"), content["status"], validator), nil
	}, gomega.BeEmpty())
}

var statusValidator = sync.OnceValues(func() (validation.SchemaValidator, error) {
	path, err := machineCRDPath()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == clusterv1.GroupVersion.Version
	})
	if i < 0 {
		return nil, fmt.Errorf("%s has no version %s", path, clusterv1.GroupVersion.Version)
	}
	statusSchema := crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["status"]
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&statusSchema, internal, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	return validator, err
})

// machineCRDPath looks for the file from the folder of the test upwards.
func machineCRDPath() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		path := filepath.Join(folder, "config", "crd", "bases", "cluster.x-k8s.io_machines.yaml")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if folder == filepath.Dir(folder) {
			return "", errors.New("config/crd/bases/cluster.x-k8s.io_machines.yaml is in no folder above the test's: run it inside the project")
		}
		folder = filepath.Dir(folder)
	}
}
