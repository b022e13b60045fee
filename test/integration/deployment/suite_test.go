// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deployment tests the manifests of config/ on a real kube-apiserver: that it takes them, what they allow, and that a
// manager lives on it. There are no pods here; the end-to-end suite has them.
package deployment

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/machinist-dev/machinist/test/environment/suite"
)

func TestDeployment(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Manifests on a real API server")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	suite.SetDefaults()
	suite.SetLogger(suite.Logger()) // once: what a manager of an earlier spec has left may still look at it
	readInputs()
	render(ctx, "default") // builds kustomize, if it has not been built
	buildEngine(ctx)
})

// readInputs reads what is read by programs that specs run. So go test knows that the outcome depends on it, and takes none
// from its cache that is older.
func readInputs() {
	GinkgoHelper()
	for _, input := range []string{"Makefile", "config", "hack/manifests.sh", "hack/preflight", "hack/tools/go.mod", "test/promql"} {
		Expect(filepath.WalkDir(filepath.Join(root, input), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			_, err = os.ReadFile(path)
			return err
		})).To(Succeed(), input)
	}
}
