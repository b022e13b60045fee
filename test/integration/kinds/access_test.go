// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"net"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// user is somebody who may do what a manager does, but for provider objects: access to these is granted kind by kind.
type user struct {
	name string
	*connections
}

func newUser(ctx context.Context, name string) *user {
	GinkgoHelper()
	u := &user{name: name, connections: &connections{open: map[net.Conn]struct{}{}}}
	u.grant(ctx, "manager",
		rule("cluster.x-k8s.io", "clusters", "get", "list", "watch"),
		rule("cluster.x-k8s.io", "machines", "get", "list", "watch", "patch"),
		rule("cluster.x-k8s.io", "machinedrainrules", "get", "list", "watch"),
		rule("cluster.x-k8s.io", "machines/status", "patch"),
		rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list", "watch"),
		rule("events.k8s.io", "events", "create", "patch"),
		rule("", "secrets", "get"),
	)
	return u
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// grant gives the user a role, or replaces what the role of that name allows.
func (u *user) grant(ctx context.Context, role string, rules ...rbacv1.PolicyRule) {
	GinkgoHelper()
	name := metav1.ObjectMeta{Name: u.name + ":" + role}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: name,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: u.name}},
	}
	if err := k8s.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: name, Rules: rules}); err == nil {
		Expect(k8s.Create(ctx, binding)).To(Succeed())
		return
	}
	existing := &rbacv1.ClusterRole{}
	Expect(k8s.Get(ctx, client.ObjectKey{Name: name.Name}, existing)).To(Succeed())
	existing.Rules = rules
	Expect(k8s.Update(ctx, existing)).To(Succeed())
}

// config is the user's access to the API server.
func (u *user) config() *rest.Config {
	cfg := rest.CopyConfig(env.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: u.name}
	cfg.Dial = u.dial
	return cfg
}

// connections can be cut. The API server checks the access of a watch when it begins: that it was withdrawn shows when
// the watch is opened again.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[conn] = struct{}{}
	return conn, nil
}

func (c *connections) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		_ = conn.Close() // perhaps it is closed already
	}
	clear(c.open)
}
