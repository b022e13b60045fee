// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// accessMemory is how long what the manager may do is remembered. Roles change seldom, and the warning is only advice.
const accessMemory = 3 * time.Minute

// neededVerbs are what the controller does with objects of a provider, in the order in which a missing one is noticed.
var neededVerbs = []string{"get", "list", "watch", "patch", "delete"}

// access answers who may do what. It is safe for concurrent use.
type access struct {
	reviews    authorizationclient.AuthorizationV1Interface
	identities authenticationclient.SelfSubjectReviewInterface
	// namespace is where the manager needs its permissions; empty means everywhere.
	namespace string
	clock     clock.PassiveClock

	mu       sync.Mutex
	username string
	// known is bounded by the number of kinds that declare a contract.
	known map[schema.GroupResource]knownAccess
}

type knownAccess struct {
	missing []string
	until   time.Time
}

func newAccess(cfg *rest.Config, o Options) (*access, error) {
	reviews, err := authorizationclient.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("building the authorization client of reference validation: %w", err)
	}
	identities, err := authenticationclient.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("building the authentication client of reference validation: %w", err)
	}
	return &access{
		reviews: reviews, identities: identities.SelfSubjectReviews(), namespace: o.Namespace, clock: clock.RealClock{},
		known: map[schema.GroupResource]knownAccess{},
	}, nil
}

// missingVerbs implements lookups.missingVerbs.
func (a *access) missingVerbs(ctx context.Context, resource schema.GroupResource) ([]string, error) {
	a.mu.Lock()
	known, ok := a.known[resource]
	a.mu.Unlock()
	if ok && a.clock.Now().Before(known.until) {
		return known.missing, nil
	}
	missing, err := a.askForVerbs(ctx, resource)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[resource] = knownAccess{missing: missing, until: a.clock.Now().Add(accessMemory)}
	return missing, nil
}

func (a *access) askForVerbs(ctx context.Context, resource schema.GroupResource) (missing []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for _, verb := range neededVerbs {
		review, err := a.reviews.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: a.namespace, Verb: verb, Group: resource.Group, Resource: resource.Resource,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("asking whether the manager may %s %s: %w", verb, resource, err)
		}
		if !review.Status.Allowed {
			missing = append(missing, verb)
		}
	}
	return missing, nil
}

// mayGet implements lookups.mayGet.
func (a *access) mayGet(ctx context.Context, user authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, value := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(value)
	}
	review, err := a.reviews.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			ResourceAttributes: &attributes, User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Can't find out what the requester may read", "err", err.Error())
		return false
	}
	return review.Status.Allowed
}

// isManager implements lookups.isManager.
func (a *access) isManager(ctx context.Context, user authenticationv1.UserInfo) bool {
	name, err := a.whoami(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Can't find out who the manager is", "err", err.Error())
		return false
	}
	return user.Username == name
}

// whoami asks once.
func (a *access) whoami(ctx context.Context) (string, error) {
	a.mu.Lock()
	name := a.username
	a.mu.Unlock()
	if name != "" {
		return name, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	review, err := a.identities.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("asking who the manager is: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.username = review.Status.UserInfo.Username
	return a.username, nil
}
