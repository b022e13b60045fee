// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authenticationfake "k8s.io/client-go/kubernetes/typed/authentication/v1/fake"
	authorizationfake "k8s.io/client-go/kubernetes/typed/authorization/v1/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

// authority is an API server that says who may do what.
type authority struct {
	*clienttesting.Fake
	allows func(*authorizationv1.ResourceAttributes) bool
	asked  []authorizationv1.ResourceAttributes
	err    error
}

func newAuthority() *authority {
	a := &authority{Fake: &clienttesting.Fake{}, allows: func(*authorizationv1.ResourceAttributes) bool { return true }}
	a.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if a.err != nil {
			return true, nil, a.err
		}
		create, ok := action.(clienttesting.CreateAction)
		Expect(ok).To(BeTrue())
		switch review := create.GetObject().(type) {
		case *authorizationv1.SelfSubjectAccessReview:
			a.asked = append(a.asked, *review.Spec.ResourceAttributes)
			review.Status.Allowed = a.allows(review.Spec.ResourceAttributes)
			return true, review, nil
		case *authorizationv1.SubjectAccessReview:
			a.asked = append(a.asked, *review.Spec.ResourceAttributes)
			review.Status.Allowed = review.Spec.User == "user" && len(review.Spec.Groups) == 1 && len(review.Spec.Extra["key"]) == 1 && a.allows(review.Spec.ResourceAttributes)
			return true, review, nil
		case *authenticationv1.SelfSubjectReview:
			review.Status.UserInfo.Username = managerName
			return true, review, nil
		}
		return false, nil, nil
	})
	return a
}

func (a *authority) access(clock *clocktesting.FakeClock) *access {
	identities := &authenticationfake.FakeAuthenticationV1{Fake: a.Fake}
	return &access{
		reviews: &authorizationfake.FakeAuthorizationV1{Fake: a.Fake}, identities: identities.SelfSubjectReviews(), clock: clock,
		known: map[schema.GroupResource]knownAccess{},
	}
}

var things = schema.GroupResource{Group: "example.org", Resource: "things"}

var _ = Describe("Access", func() {
	It("is remembered for minutes, errors not at all", func(ctx SpecContext) {
		authority, clock := newAuthority(), clocktesting.NewFakeClock(time.Now())
		authority.allows = func(of *authorizationv1.ResourceAttributes) bool { return of.Verb != "watch" && of.Verb != "delete" }
		access := authority.access(clock)

		authority.err = errors.New("no")
		_, err := access.missingVerbs(ctx, things)
		Expect(err).To(MatchError("asking whether the manager may get things.example.org: no"))
		authority.err = nil

		for range 2 {
			Expect(access.missingVerbs(ctx, things)).To(Equal([]string{"watch", "delete"}))
		}
		Expect(authority.asked).To(HaveLen(len(neededVerbs)))
		Expect(authority.asked).To(HaveEach(SatisfyAll(HaveField("Group", "example.org"), HaveField("Resource", "things"), HaveField("Namespace", ""))))

		authority.allows = func(*authorizationv1.ResourceAttributes) bool { return true }
		clock.Step(accessMemory)
		Expect(access.missingVerbs(ctx, things)).To(BeEmpty())
	})

	It("of a requester is asked for with all that authorizers go by", func(ctx SpecContext) {
		authority := newAuthority()
		access := authority.access(clocktesting.NewFakeClock(time.Now()))
		user := authenticationv1.UserInfo{Username: "user", Groups: []string{"group"}, Extra: map[string]authenticationv1.ExtraValue{"key": {"value"}}}
		attributes := authorizationv1.ResourceAttributes{Namespace: "ns", Verb: "get", Group: "example.org", Resource: "things", Name: "thing"}
		Expect(access.mayGet(ctx, user, attributes)).To(BeTrue())
		Expect(authority.asked).To(HaveExactElements(attributes))
		Expect(access.mayGet(ctx, authenticationv1.UserInfo{Username: "other"}, attributes)).To(BeFalse())
		authority.err = errors.New("no")
		Expect(access.mayGet(ctx, user, attributes)).To(BeFalse(), "nothing is told to somebody who might not know")
	})

	It("of the manager itself is known by its name, which is asked for once", func(ctx SpecContext) {
		authority := newAuthority()
		access := authority.access(clocktesting.NewFakeClock(time.Now()))
		manager := authenticationv1.UserInfo{Username: managerName}
		authority.err = errors.New("no")
		Expect(access.isManager(ctx, manager)).To(BeFalse())
		authority.err = nil
		Expect(access.isManager(ctx, manager)).To(BeTrue())
		Expect(access.isManager(ctx, authenticationv1.UserInfo{Username: "user"})).To(BeFalse())
		authority.err = errors.New("no")
		Expect(access.isManager(ctx, manager)).To(BeTrue())
	})
})
