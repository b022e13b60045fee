// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/yaml"
)

// The contract as this suite knows it: the labels, and the roles of kinds in the words of verdicts.yaml.
const (
	v1beta1         = "v1beta1"
	v1beta2         = "v1beta2"
	labelPrefix     = "cluster.x-k8s.io/"
	infraMachine    = "InfraMachine"
	bootstrapConfig = "BootstrapConfig"
)

// definition is the definition of a kind, and what people have found out about it by reading it: an entry of
// verdicts.yaml.
type definition struct {
	// File is the path of the CustomResourceDefinition, beginning with the provider.
	File  string `json:"file"`
	Kind  string `json:"kind"`
	Group string `json:"group"`
	// Role is the part of the kind in the contract, or "other".
	Role string `json:"role"`
	// Versions says of each API version whether it is served.
	Versions map[string]string `json:"versions"`
	// Contracts has an entry for each contract version.
	Contracts map[string]verdict `json:"contracts"`
	// Effective is the contract version that a reader of all of them uses.
	Effective struct {
		Contract   string `json:"contract"`
		APIVersion string `json:"apiVersion"`
		Result     string `json:"result"`
	} `json:"effective"`
	// Problems are those that belong to no contract version.
	Problems []problem `json:"problems"`
}

// verdict is what is known of one contract version.
type verdict struct {
	Declared   bool      `json:"declared"`
	APIVersion string    `json:"apiVersion"`
	Result     string    `json:"result"`
	Problems   []problem `json:"problems"`
}

// problem is one way in which a definition breaks the contract.
type problem struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// referable reports whether a Machine may reference objects of the kind.
func (d *definition) referable() bool { return d.Role == infraMachine || d.Role == bootstrapConfig }

func (d *definition) provider() string { return path.Dir(d.File) }

func (d *definition) gvk(apiVersion string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: d.Group, Version: apiVersion, Kind: d.Kind}
}

// readDefinitions reads a file such as verdicts.yaml.
func readDefinitions(file string) ([]definition, error) {
	var content struct {
		CRDs []definition `json:"crds"`
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(content.CRDs) == 0 {
		return nil, fmt.Errorf("%s: no definitions under crds", file)
	}
	return content.CRDs, nil
}

// readCRD reads a CustomResourceDefinition and takes out its conversion webhook, which doesn't run.
func readCRD(file string) (*apiextensionsv1.CustomResourceDefinition, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, crd); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	return crd, nil
}

// readObject reads one object, with numbers as the API machinery has them.
func readObject(file string) (*unstructured.Unstructured, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	data, err = yaml.YAMLToJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return object, nil
}

// reading is one way to read the objects of a definition, which follows from the labels that it is given.
type reading struct {
	// labels are the contract labels that are changed for this reading, by contract version; "" takes a label away.
	labels map[string]string
	// contract is the contract version that applies, "" if there is none.
	contract   string
	apiVersion string
	problems   []problem
}

func (r reading) String() string {
	if r.contract == "" {
		return "without a contract label"
	}
	return fmt.Sprintf("contract %s, read at API version %s", r.contract, r.apiVersion)
}

// readings are those that the suite goes through: as the provider has published the definition, and then with each of
// the other possibilities that it leaves.
func (d *definition) readings() []reading {
	if d.Effective.Contract == "" {
		apiVersion := slices.MaxFunc(d.served(), version.CompareKubeAwareVersionStrings)
		return []reading{
			{apiVersion: apiVersion, problems: d.Problems},
			{contract: v1beta1, apiVersion: apiVersion, labels: map[string]string{v1beta1: apiVersion}, problems: d.Problems},
		}
	}
	of := func(contract string, labels map[string]string) reading {
		v := d.Contracts[contract]
		return reading{labels: labels, contract: contract, apiVersion: v.APIVersion, problems: v.Problems}
	}
	readings := []reading{of(d.Effective.Contract, nil)}
	if d.Contracts[v1beta1].Declared && d.Contracts[v1beta2].Declared {
		readings = append(readings, of(v1beta1, map[string]string{v1beta2: ""}))
	}
	return readings
}

func (d *definition) served() []string {
	var names []string
	for name, state := range d.Versions {
		if slices.Contains(strings.Split(state, ", "), "served") {
			names = append(names, name)
		}
	}
	return names
}

// installation is a definition with those of its readings that are at one API version. The API version is made the one
// that is stored: without a conversion webhook, what is stored at another one loses the fields that are not in both.
type installation struct {
	definition
	readings []reading
}

func (i *installation) apiVersion() string { return i.readings[0].apiVersion }

// waves splits definitions into sets that can be installed at once: none has a kind twice.
func waves(definitions []definition) [][]installation {
	var waves [][]installation
	seen := map[schema.GroupVersionKind]int{}
	for _, d := range definitions {
		var previous *installation
		for _, r := range d.readings() {
			if previous != nil && previous.apiVersion() == r.apiVersion {
				previous.readings = append(previous.readings, r)
				continue
			}
			wave := seen[d.gvk("")]
			seen[d.gvk("")]++
			if wave == len(waves) {
				waves = append(waves, nil)
			}
			waves[wave] = append(waves[wave], installation{d, []reading{r}})
			previous = &waves[wave][len(waves[wave])-1]
		}
	}
	return waves
}

// collection is a set of definitions and objects.
type collection struct {
	definitions []definition
	// crd reads a definition.
	crd func(context.Context, definition) (*apiextensionsv1.CustomResourceDefinition, error)
	// folders hold a folder for each provider, with files object_*.yaml.
	folders []string
}

// files returns the files of a provider, by paths that begin with the provider.
func (c *collection) files(provider, pattern string) (map[string]string, error) {
	files := map[string]string{}
	for _, folder := range c.folders {
		found, err := filepath.Glob(filepath.Join(folder, provider, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			files[path.Join(provider, filepath.Base(file))] = file
		}
	}
	return files, nil
}

// objects returns the objects of the kind that are of an API version which the definition serves.
func (c *collection) objects(d definition) (map[string]*unstructured.Unstructured, error) {
	files, err := c.files(d.provider(), "object_*.yaml")
	if err != nil {
		return nil, err
	}
	objects := map[string]*unstructured.Unstructured{}
	var errs []error
	for name, file := range files {
		object, err := readObject(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		gvk := object.GroupVersionKind()
		if gvk.Kind == d.Kind && gvk.Group == d.Group && slices.Contains(d.served(), gvk.Version) {
			objects[name] = object
		}
	}
	return objects, errors.Join(errs...)
}
