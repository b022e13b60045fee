// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gstruct"
	gomegatypes "github.com/onsi/gomega/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func jsonMerge(patch map[string]any) client.Patch {
	GinkgoHelper()
	data, err := json.Marshal(patch)
	Expect(err).NotTo(HaveOccurred())
	return client.RawPatch(types.MergePatchType, data)
}

// haveCondition matches a list of conditions that has one of the type with status, reason and message, each of which may
// be a value or a matcher.
func haveCondition(conditionType string, status, reason, message any) gomegatypes.GomegaMatcher {
	matcher := func(expected any) gomegatypes.GomegaMatcher {
		if m, ok := expected.(gomegatypes.GomegaMatcher); ok {
			return m
		}
		return Equal(expected)
	}
	return ContainElement(gstruct.MatchFields(gstruct.IgnoreExtras, gstruct.Fields{
		"Type": Equal(conditionType), "Status": matcher(status), "Reason": matcher(reason), "Message": matcher(message),
	}))
}

// eventuallyGone polls until the API server has no such object.
func eventuallyGone(ctx context.Context, object client.Object) {
	GinkgoHelper()
	Eventually(func() bool {
		return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(object), object))
	}).WithContext(ctx).Should(BeTrue(), "%T %s should be gone", object, client.ObjectKeyFromObject(object))
}

// eventuallyOwned polls until the object has a controller.
func eventuallyOwned(ctx context.Context, object client.Object) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		g.Expect(metav1.GetControllerOf(object)).NotTo(BeNil())
	}).WithContext(ctx).Should(Succeed())
}
