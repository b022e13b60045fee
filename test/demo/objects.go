// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/simulator"
)

// namespace of all objects; it exists in every control plane.
const namespace = "default"

// readSamples returns the objects in all YAML files of a folder, in the order of file names.
func readSamples(dir string) ([]client.Object, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s has no YAML files", dir)
	}
	var objects []client.Object
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		inFile, err := decode(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		objects = append(objects, inFile...)
	}
	return objects, nil
}

// decode returns the objects of a file with any number of YAML documents.
func decode(content []byte) ([]client.Object, error) {
	var objects []client.Object
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		obj := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &obj.Object); err != nil {
			return nil, err
		}
		if len(obj.Object) == 0 { // only comments
			continue
		}
		if obj.GetNamespace() == "" {
			obj.SetNamespace(namespace)
		}
		objects = append(objects, obj)
	}
}

// payloadSize of generated provider objects, in bytes of JSON, for spec and status each; with it they are as large as those
// of common providers.
const payloadSize = 2000

// clusterSize is how many generated Machines share a Cluster, and controlPlaneSize how many of them are its control plane.
const (
	clusterSize      = 100
	controlPlaneSize = 3
)

// generate builds the objects of a number of Machines, in as many Clusters as they need.
func generate(machines int) []client.Object {
	var objects []client.Object
	for i := 0; machines > 0; i++ {
		size := min(machines, clusterSize)
		machines -= size
		controlPlane := min(size, controlPlaneSize)
		cluster := builder.Cluster(namespace, fmt.Sprintf("demo-%d", i)).Build()
		objects = append(objects, cluster)
		objects = append(objects, simulator.Machines(cluster, controlPlane, size-controlPlane, simulator.Shape{PayloadSize: payloadSize})...)
	}
	return objects
}
