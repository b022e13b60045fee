// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment/suite"
)

var _ = Describe("Definitions in modules of Cluster API", func() { describe(fromModules()) })

var _ = Describe("Definitions in the folder of provider data", func() { describe(fromFolder()) })

// sideBySide is how many definitions are tried at the same time: nearly all of the time is waiting, as a Machine that is
// being provisioned does not report every step at once.
const sideBySide = 64

// describe has a spec for each definition, or more if it is read at more than one API version. Definitions of a wave are
// installed together and tried side by side before the first of the specs, which then tell one by one what came out. If
// there is nothing to try, the reason says why.
func describe(c collection, reason string, err error) {
	if reason != "" || err != nil {
		It("are read", func() {
			Expect(err).NotTo(HaveOccurred())
			Skip(reason)
		})
		return
	}
	It("have an entry for every file", func() { expectComplete(c) })
	for i, wave := range waves(c.definitions) {
		Describe(fmt.Sprintf("variant %d of each kind", i+1), Ordered, ContinueOnFailure, func() {
			var failures []string
			BeforeAll(func(ctx SpecContext) { failures = tryWave(ctx, c, wave) })
			for i := range wave {
				It(wave[i].File+", "+wave[i].readings[0].String(), func() {
					if !wave[i].referable() {
						Skip(wave[i].Kind + " is neither an InfraMachine nor a BootstrapConfig, whatever its labels say: no Machine references it")
					}
					Expect(failures[i]).To(BeEmpty())
				})
			}
		})
	}
}

// tryWave returns the first failure of each definition, "" if there is none.
func tryWave(ctx context.Context, c collection, wave []installation) []string {
	GinkgoHelper()
	crds := installWave(ctx, c, wave)
	failures := make([]string, len(wave))
	var group errgroup.Group
	group.SetLimit(sideBySide)
	for i := range wave {
		group.Go(func() error {
			failures[i] = failureOf(func(g Gomega) { try(ctx, g, c, wave[i], crds[i]) })
			return nil
		})
	}
	Expect(group.Wait()).To(Succeed())
	return failures
}

// failureOf returns the first assertion that fails, with the lines of this package that led to it; "" if none does.
func failureOf(body func(Gomega)) (failure string) {
	type failed struct{ message string }
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case failed:
			failure = cause.message
		default:
			panic(cause)
		}
	}()
	body(NewGomega(func(message string, _ ...int) {
		callers := make([]uintptr, 64)
		frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
		var lines []string
		for frame, more := frames.Next(); more; frame, more = frames.Next() {
			if strings.Contains(frame.File, "integration/providers/") {
				lines = append(lines, fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line))
			}
		}
		panic(failed{message + "\nat " + strings.Join(lines, " < ")})
	}))
	return ""
}

// installWave installs definitions, in the place of others that have their names.
func installWave(ctx context.Context, c collection, wave []installation) []*apiextensionsv1.CustomResourceDefinition {
	GinkgoHelper()
	crds := make([]*apiextensionsv1.CustomResourceDefinition, len(wave))
	for i := range wave {
		crd, err := c.crd(ctx, wave[i].definition)
		if missing, ok := errors.AsType[*notDownloadedError](err); ok {
			Skip(missing.Error())
		}
		Expect(err).NotTo(HaveOccurred())
		for v := range crd.Spec.Versions {
			crd.Spec.Versions[v].Storage = crd.Spec.Versions[v].Name == wave[i].apiVersion()
		}
		crds[i] = crd
	}
	for _, crd := range crds {
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, crd.DeepCopy()))).To(Succeed())
	}
	for _, crd := range crds {
		Eventually(func() bool {
			return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(crd), &apiextensionsv1.CustomResourceDefinition{}))
		}).WithContext(ctx).WithTimeout(suite.CollectionTimeout).Should(BeTrue(), "the definition before %s should be gone", crd.Name)
	}
	suite.InstallCRDs(env, crds...)
	return crds
}

// try goes through the readings of a definition that is installed.
func try(ctx context.Context, g Gomega, c collection, installed installation, crd *apiextensionsv1.CustomResourceDefinition) {
	if !installed.referable() {
		return
	}
	objects, err := c.objects(installed.definition)
	g.Expect(err).NotTo(HaveOccurred())
	var unreadable *trial
	for _, r := range installed.readings {
		relabel(ctx, g, crd, r.labels)
		t := newTrial(ctx, g, installed.definition, crd, r)
		if unreadable != nil {
			unreadable.goOn(ctx, r)
			unreadable = nil
		}
		t.tryMinimal(ctx)
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			if fault := refused[exception{t.File, "", name}]; fault != "" {
				g.Expect(t.create(ctx, &subject{object: t.published(objects[name])})).To(MatchError(ContainSubstring(fault)), name)
				continue
			}
			if slices.Contains(unconvertible, exception{t.File, t.contract, name}) {
				continue
			}
			s := t.add(ctx, name, objects[name])
			t.expect(ctx, s)
			t.expectFaithful(ctx, s)
		}
		if sequel, ok := sequels[t.File]; ok {
			sequel(ctx, t, objects)
		}
		t.settle(ctx)
		if t.contract == "" {
			unreadable = t
			continue
		}
		t.finish(ctx)
	}
}

// goOn checks that Machines which could do nothing go on as soon as a label says how to read their objects.
func (t *trial) goOn(ctx context.Context, r reading) {
	t.reading = r
	for _, s := range t.subjects {
		t.expect(ctx, s)
	}
	t.settle(ctx)
	t.finish(ctx)
}

// relabel changes contract labels of an installed definition.
func relabel(ctx context.Context, g Gomega, crd *apiextensionsv1.CustomResourceDefinition, labels map[string]string) {
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
	g.Expect(k8s.Patch(ctx, target, merge(nested(patch, "metadata", "labels")))).To(Succeed())
}

// expectComplete checks that no file is left out: every definition has an entry, and every object fits to one of them. And
// that nothing is said here about files that aren't there.
func expectComplete(c collection) {
	GinkgoHelper()
	used := map[string]bool{}
	providers := map[string]bool{}
	for _, d := range c.definitions {
		objects, err := c.objects(d)
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
	for _, e := range slices.Concat(slices.Collect(maps.Keys(exceptions)), slices.Collect(maps.Keys(refused)), unconvertible) {
		if used[e.definition] {
			Expect(used).To(HaveKey(e.object), "%v", e)
		}
	}
}
