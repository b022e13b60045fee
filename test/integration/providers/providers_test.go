// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"errors"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

var _ = Describe("Definitions in modules of Cluster API", func() {
	describe(fromModules)
})

var _ = Describe("Definitions in the folder of provider data", func() {
	var reason string
	describe(func() (c collection, err error) {
		c, reason, err = fromFolder()
		return c, err
	})
	if reason != "" {
		It("are read", func() { Skip(reason) })
		return
	}
	It("has an entry for every file", func(ctx SpecContext) {
		c, _, err := fromFolder()
		Expect(err).NotTo(HaveOccurred())
		expectComplete(ctx, c)
	})
	It("lose a machine that was provisioned", func(ctx SpecContext) { loseMachine(ctx) })
})

// describe has a spec for each definition.
func describe(read func() (collection, error)) {
	c, err := read()
	if err != nil {
		It("are read", func() { Expect(err).NotTo(HaveOccurred()) })
	}
	for _, d := range c.definitions {
		It(d.File, func(ctx SpecContext) {
			if d.Role != infraMachine && d.Role != bootstrapConfig {
				Skip(d.Kind + " is neither an InfraMachine nor a BootstrapConfig, whatever its labels say: no Machine references it")
			}
			crd, err := c.crd(ctx, d)
			if missing, ok := errors.AsType[*notDownloadedError](err); ok {
				Skip(missing.Error())
			}
			Expect(err).NotTo(HaveOccurred())
			try(ctx, c, d, crd)
		})
	}
}

// try goes through all readings of a definition.
func try(ctx context.Context, c collection, d definition, crd *apiextensionsv1.CustomResourceDefinition) {
	objects, err := c.objects(d, crd)
	Expect(err).NotTo(HaveOccurred())
	installUntilEnd(ctx, crd)
	var unreadable *trial
	for _, r := range d.readings(crd) {
		By(r.String())
		relabel(ctx, crd, r.labels)
		t := newTrial(ctx, d, crd, r)
		if unreadable != nil {
			unreadable.recover(ctx, r)
			unreadable = nil
		}
		t.tryMinimal(ctx)
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			if fault := refused[exception{d.File, "", name}]; fault != "" {
				err := k8s.Create(ctx, t.published(objects[name]))
				Expect(err).To(MatchError(ContainSubstring(fault)), name)
				continue
			}
			s := t.add(ctx, name, objects[name])
			t.expect(ctx, s)
			t.expectFaithful(ctx, s)
		}
		t.settle(ctx)
		if r.contract == "" {
			unreadable = t
			continue
		}
		t.finish(ctx)
	}
}

// recover checks that Machines which could do nothing go on as soon as a label says how to read their objects.
func (t *trial) recover(ctx context.Context, r reading) {
	GinkgoHelper()
	t.reading = r
	for _, s := range t.subjects {
		t.expect(ctx, s)
	}
	t.settle(ctx)
	t.finish(ctx)
}

// installUntilEnd installs a definition until the end of the spec. Another one of that name may still be on its way out.
func installUntilEnd(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) {
	GinkgoHelper()
	Eventually(func() bool {
		return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(crd), &apiextensionsv1.CustomResourceDefinition{}))
	}).WithContext(ctx).Should(BeTrue(), "another definition of the name should be gone")
	install(crd)
	DeferCleanup(func(ctx SpecContext) {
		Expect(k8s.Delete(ctx, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.Name}})).To(Succeed())
	})
}

func install(crds ...*apiextensionsv1.CustomResourceDefinition) {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{CRDs: crds})
	Expect(err).NotTo(HaveOccurred())
}

// relabel changes contract labels of an installed definition.
func relabel(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, labels map[string]string) {
	GinkgoHelper()
	if len(labels) == 0 {
		return
	}
	patch := map[string]any{}
	for contract, apiVersions := range labels {
		patch[labelPrefix+contract] = apiVersions
		if apiVersions == "" {
			patch[labelPrefix+contract] = nil
		}
	}
	target := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.Name}}
	Expect(k8s.Patch(ctx, target, merge(nested(patch, "metadata", "labels")))).To(Succeed())
}

// expectComplete checks that no file is left out: every definition has an entry, and every object fits to one of them.
func expectComplete(ctx context.Context, c collection) {
	GinkgoHelper()
	used := map[string]bool{}
	providers := map[string]bool{}
	for _, d := range c.definitions {
		crd, err := c.crd(ctx, d)
		Expect(err).NotTo(HaveOccurred())
		objects, err := c.objects(d, crd)
		Expect(err).NotTo(HaveOccurred())
		for name := range objects {
			used[name] = true
		}
		used[d.File], providers[d.provider()] = true, true
	}
	for provider := range providers {
		for _, pattern := range []string{"crd_*.yaml", "object_*.yaml"} {
			files, err := c.files(provider, pattern)
			Expect(err).NotTo(HaveOccurred())
			for name := range files {
				Expect(used).To(HaveKey(name))
			}
		}
	}
}
