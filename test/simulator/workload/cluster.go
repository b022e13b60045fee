// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

// Cluster is one workload cluster. All methods may be called concurrently.
type Cluster struct {
	key         types.NamespacedName
	url         string
	store       *store
	connections connections
	latency     atomic.Int64 // nanoseconds

	mu       sync.RWMutex
	identity *identity
	token    string
	requests map[Request]int
	forbids  func(Request) bool
}

// Request is what requests are counted by.
type Request struct {
	// UserAgent as sent by the client.
	UserAgent string
	// Verb is get, list, watch, create, update, patch or delete; "unknown" for what clusters don't serve.
	Verb string
	// Resource is the plural name, with "/status" or "/eviction" for a subresource, or the path of something that is not a resource.
	Resource string
}

func newCluster(s *Server, key types.NamespacedName) (*Cluster, error) {
	id, err := newIdentity(serverName(key))
	if err != nil {
		return nil, err
	}
	return &Cluster{
		key:      key,
		url:      fmt.Sprintf("https://%s/clusters/%s/%s", s.listener.Addr(), key.Namespace, key.Name),
		store:    newStore(s.historySize),
		identity: id,
		token:    utilrand.String(32),
		requests: map[Request]int{},
	}, nil
}

// Key is the namespace and name of the Cluster object that the cluster belongs to.
func (c *Cluster) Key() types.NamespacedName { return c.key }

// URL is the address of the cluster's API.
func (c *Cluster) URL() string { return c.url }

// Kubeconfig returns a kubeconfig file (JSON, which is YAML) with the cluster's present CA and token.
func (c *Cluster) Kubeconfig() ([]byte, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	name := c.key.Name
	config := clientcmdv1.Config{
		APIVersion: "v1",
		Kind:       "Config",
		Clusters: []clientcmdv1.NamedCluster{{Name: name, Cluster: clientcmdv1.Cluster{
			Server:                   c.url,
			TLSServerName:            serverName(c.key),
			CertificateAuthorityData: c.identity.caPEM,
		}}},
		AuthInfos:      []clientcmdv1.NamedAuthInfo{{Name: name, AuthInfo: clientcmdv1.AuthInfo{Token: c.token}}},
		Contexts:       []clientcmdv1.NamedContext{{Name: name, Context: clientcmdv1.Context{Cluster: name, AuthInfo: name}}},
		CurrentContext: name,
	}
	return json.Marshal(config)
}

// RotateToken makes the former bearer token invalid: requests with it get 401. Watches that are open stay open, as in a
// real API server. Take the new token from Kubeconfig.
func (c *Cluster) RotateToken() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = utilrand.String(32)
}

// RotateCA gives the cluster a new CA and certificate and closes its connections, as a restart of its API server does.
// Clients that trust the former CA fail to connect until they take the new one from Kubeconfig.
func (c *Cluster) RotateCA() error {
	id, err := newIdentity(serverName(c.key))
	if err != nil {
		return fmt.Errorf("workload cluster %s: %w", c.key, err)
	}
	c.mu.Lock()
	c.identity = id
	c.mu.Unlock()
	c.connections.closeAll()
	return nil
}

// Forbid makes the cluster answer 403 to requests that match; nil allows all again. Watches that are open stay open, as in a
// real API server.
func (c *Cluster) Forbid(match func(Request) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forbids = match
}

// Connections is the number of TCP connections that clients have open.
func (c *Cluster) Connections() int {
	c.connections.mu.Lock()
	defer c.connections.mu.Unlock()
	return len(c.connections.open)
}

// TakeDown makes the cluster unreachable in the given way until BringUp or another TakeDown.
func (c *Cluster) TakeDown(how Outage) { c.connections.set(how) }

// BringUp ends an outage.
func (c *Cluster) BringUp() { c.connections.set(reachable) }

// SetLatency makes every request wait this long before it is looked at. Events of open watches are not delayed.
func (c *Cluster) SetLatency(latency time.Duration) { c.latency.Store(int64(latency)) }

// Compact makes the cluster forget its history: every open watch, and every watch that resumes, gets 410 Gone.
func (c *Cluster) Compact() { c.store.compact() }

// Requests counts the requests that the cluster got, also those that it refused.
func (c *Cluster) Requests() map[Request]int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return maps.Clone(c.requests)
}

// Create stores obj and writes its UID, creation time and resource version into it. Errors are those of the Kubernetes
// API, for example AlreadyExists.
func (c *Cluster) Create(obj Object) error {
	res, err := resourceOf(obj)
	if err != nil {
		return err
	}
	_, err = c.store.create(res, obj)
	return err
}

// Get reads the object of into's type. Errors are those of the Kubernetes API, for example NotFound.
func (c *Cluster) Get(key types.NamespacedName, into Object) error {
	res, err := resourceOf(into)
	if err != nil {
		return err
	}
	rec, err := c.store.get(res, key)
	if err != nil {
		return err
	}
	reflect.ValueOf(into).Elem().SetZero() // decoding protobuf adds to what is there
	return into.Unmarshal(rec.raw)
}

// Update changes spec, status or metadata of the object named key: mutate gets it, and must not call the cluster.
// Without a change nothing is stored.
func Update[T Object](c *Cluster, key types.NamespacedName, mutate func(T)) error {
	res, err := resourceOf(reflect.New(reflect.TypeFor[T]().Elem()).Interface().(Object))
	if err != nil {
		return err
	}
	_, err = c.store.update(res, key, func(current Object) (Object, error) {
		mutate(current.(T))
		return current, nil
	})
	return err
}

// Delete removes the object named key of obj's type, or marks it as deleting while it has finalizers.
func (c *Cluster) Delete(key types.NamespacedName, obj Object) error {
	res, err := resourceOf(obj)
	if err != nil {
		return err
	}
	_, err = c.store.delete(res, key, nil)
	return err
}

// Count returns the number of stored objects of obj's type.
func (c *Cluster) Count(obj Object) (int, error) {
	res, err := resourceOf(obj)
	if err != nil {
		return 0, err
	}
	return c.store.count(res), nil
}

func (c *Cluster) count(request Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[request]++
}

func (c *Cluster) authenticate(r *http.Request) error {
	c.mu.RLock()
	want := "Bearer " + c.token
	c.mu.RUnlock()
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(want)) != 1 {
		return apierrors.NewUnauthorized(fmt.Sprintf("workload cluster %s: the bearer token is missing or not the present one", c.key))
	}
	return nil
}

func (c *Cluster) authorize(request Request) error {
	c.mu.RLock()
	forbids := c.forbids
	c.mu.RUnlock()
	if forbids != nil && forbids(request) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: request.Resource}, "", fmt.Errorf("workload cluster %s does not allow it", c.key))
	}
	return nil
}

func (c *Cluster) tlsConfig() *tls.Config {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.identity.tlsConfig
}

// delay waits for the cluster's latency, or until the client is gone.
func (c *Cluster) delay(ctx context.Context) error {
	latency := time.Duration(c.latency.Load())
	if latency == 0 {
		return nil
	}
	timer := time.NewTimer(latency)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
