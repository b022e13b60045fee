// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"errors"
	"io"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Decode reads the objects of a YAML file, in their order.
func Decode(content []byte) []*unstructured.Unstructured {
	ginkgo.GinkgoHelper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		objects = append(objects, object)
	}
}
