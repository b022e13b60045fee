// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// crdFiles are the names of the files that hold the CustomResourceDefinition of a kind, here and in Cluster API.
var crdFiles = map[string]string{
	"Cluster":          "cluster.x-k8s.io_clusters.yaml",
	"Machine":          "cluster.x-k8s.io_machines.yaml",
	"MachineDrainRule": "cluster.x-k8s.io_machinedrainrules.yaml",
}

func ourCRD(t *testing.T, kind string) map[string]any {
	t.Helper()
	return readCRD(t, filepath.Join("..", "..", "config", "crd", "bases", crdFiles[kind]))
}

func theirCRD(t *testing.T, kind string) map[string]any {
	t.Helper()
	return readCRD(t, filepath.Join(clusterAPIFolder(t), "core", "config", "crd", "bases", crdFiles[kind]))
}

// theirSchema is Cluster API's schema of a kind in a version.
func theirSchema(t *testing.T, version, kind string) map[string]any {
	t.Helper()
	spec := theirCRD(t, kind)["spec"].(map[string]any)
	definition := byName(spec["versions"].([]any))[version].(map[string]any)
	return definition["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
}

func readCRD(t *testing.T, file string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	crd := map[string]any{}
	if err := yaml.UnmarshalStrict(data, &crd); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return crd
}

// clusterAPIFolder is the source of the Cluster API release whose types go.mod requires. The types are a module of their
// own, without the CustomResourceDefinitions; those are in the main module of the same version, which is downloaded into
// the module cache without being required: nothing of it is compiled.
func clusterAPIFolder(t *testing.T) string {
	t.Helper()
	version := goCommand(t, "list", "-m", "-f", "{{.Version}}", "sigs.k8s.io/cluster-api/api")
	downloaded := goCommand(t, "mod", "download", "-json", "sigs.k8s.io/cluster-api@"+strings.TrimSpace(version))
	module := struct{ Dir string }{}
	if err := json.Unmarshal([]byte(downloaded), &module); err != nil {
		t.Fatal(err)
	}
	return module.Dir
}

func goCommand(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, &stdout, &stderr)
	}
	return stdout.String()
}

// schemaPaths lists the properties of a schema, in the form of collectPaths. What has no properties of its own
// (maps, metadata) is one path.
func schemaPaths(schema map[string]any, path string) []string {
	if items, ok := schema["items"].(map[string]any); ok {
		return schemaPaths(items, path+"[]")
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return []string{path}
	}
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		paths = append(paths, schemaPaths(properties[name].(map[string]any), path+"."+name)...)
	}
	return paths
}

// byName turns a list of objects with a name into a map.
func byName(list []any) map[string]any {
	byName := map[string]any{}
	for _, element := range list {
		byName[element.(map[string]any)["name"].(string)] = element
	}
	return byName
}
