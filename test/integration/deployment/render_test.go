// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"context"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/machinist-dev/machinist/test/environment/suite"
)

const (
	// namespace is the one of every flavour as it is in the repository.
	namespace = "machinist-system"
	image     = "registry.example.org:5000/machinist/manager:v1.2.3"
	script    = "../../../hack/manifests.sh"
)

// flavours are the folders below config/ with a manager in them.
var flavours = []string{"default", "overlays/coexist", "overlays/cert-manager", "overlays/sharded", "overlays/namespaced"}

// manifests are the objects of a flavour, in the order in which they are applied.
type manifests []*unstructured.Unstructured

// render returns the objects of a folder below config/ as make deploy applies them.
func render(ctx context.Context, folder string) manifests {
	GinkgoHelper()
	return renderWith(ctx, folder, image)
}

// renderWith returns the objects that hack/manifests.sh prints.
func renderWith(ctx context.Context, args ...string) manifests {
	GinkgoHelper()
	command := exec.CommandContext(ctx, script, args...)
	command.Stderr = GinkgoWriter
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred())
	return suite.Decode(output)
}

// of returns those of the kinds.
func (m manifests) of(kinds ...string) manifests {
	var found manifests
	for _, object := range m {
		for _, kind := range kinds {
			if object.GetKind() == kind {
				found = append(found, object)
			}
		}
	}
	return found
}

// without returns those of other kinds.
func (m manifests) without(kinds ...string) manifests {
	var left manifests
	for _, object := range m {
		if len(manifests{object}.of(kinds...)) == 0 {
			left = append(left, object)
		}
	}
	return left
}

// named returns the one of that name.
func (m manifests) named(name string) *unstructured.Unstructured {
	GinkgoHelper()
	for _, object := range m {
		if object.GetName() == name {
			return object
		}
	}
	Expect(m.names()).To(ContainElement(name))
	return nil
}

func (m manifests) names() []string {
	var names []string
	for _, object := range m {
		names = append(names, object.GetName())
	}
	return names
}

// as converts objects to a type.
func as[T any](m manifests) []*T {
	GinkgoHelper()
	typed := make([]*T, 0, len(m))
	for _, object := range m {
		into := new(T)
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, into, true)).To(Succeed(), object.GetName())
		typed = append(typed, into)
	}
	return typed
}
