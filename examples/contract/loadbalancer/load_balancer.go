// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package loadbalancer

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LoadBalancer spreads connections over backends.
//
// +contract:kind
// +contract:crd:scope=Namespaced,statusSubresource=true
type LoadBalancer struct {
	// Hostname is the name under which the load balancer is reached. Version v1alpha1 had it in the spec.
	// +contract:path=status.hostname
	// +contract:path:v1alpha1=spec.host
	// +contract:required
	// +contract:writer=provider
	Hostname string

	// Ready says that connections are accepted.
	// +contract:path=status.ready
	// +contract:path:v1=status.state.ready
	// +contract:required
	// +contract:default=false
	// +contract:writer=provider
	Ready bool

	// Mode is how backends are chosen.
	// +contract:path=spec.mode
	// +contract:enum=RoundRobin;LeastConnections
	// +contract:default=RoundRobin
	// +contract:writer=user
	Mode string

	// Replicas is the number of servers behind the name.
	// +contract:path=spec.replicas
	// +contract:default=1
	// +contract:writer=user
	Replicas int32

	// BytesServed is what all connections carried so far.
	// +contract:path=status.statistics.bytesServed
	// +contract:path:v1alpha1=-
	// +contract:lenient
	// +contract:writer=provider
	BytesServed int64

	// IdleTimeout is after how much silence a connection is closed.
	// +contract:path=spec.idleTimeout;spec.timeout
	// +contract:home:v1alpha1=spec.timeout
	// +contract:writer=user
	IdleTimeout metav1.Duration

	// CertificateExpiry is when the certificate expires. An empty string says that there is none.
	// +contract:path=status.certificateExpiry
	// +contract:absentIf=null;empty
	// +contract:writer=provider
	CertificateExpiry metav1.Time

	// Zones are where the servers may run.
	// +contract:path=spec.zones
	// +contract:writer=user
	Zones []string

	// Tags are passed on to the cloud.
	// +contract:path=spec.tags
	// +contract:writer=user
	Tags map[string]string

	// HealthCheck says how backends are checked.
	// +contract:path=spec.healthCheck
	// +contract:path:v1alpha1=-
	// +contract:writer=user
	HealthCheck HealthCheck

	// Listeners are the ports that are open.
	// +contract:path=spec.listeners
	// +contract:required
	// +contract:writer=user
	Listeners []Listener

	// OpenPorts is the same list for readers that need no more than the names and may not fail on the rest.
	// +contract:path=spec.listeners
	// +contract:sharesPathWith=Listeners
	// +contract:lenient
	// +contract:skipNonObjects
	// +contract:deprecated
	// +contract:writer=user
	OpenPorts []OpenPort

	// Tier is what the load balancer may cost.
	// +contract:label=loadbalancer.example.com/tier
	// +contract:default=standard
	// +contract:writer=user
	Tier string

	// Maintenance says that nobody should rely on the load balancer now.
	// +contract:annotation=loadbalancer.example.com/maintenance
	// +contract:presence
	// +contract:writer=user
	Maintenance bool

	// MaintenanceEnd is when the maintenance ends.
	// +contract:annotation=loadbalancer.example.com/maintenance-end
	// +contract:writer=user
	MaintenanceEnd metav1.Time

	// DrainTimeout is how long open connections may last.
	// +contract:annotation=loadbalancer.example.com/drain-timeout
	// +contract:absentIf=empty
	// +contract:writer=user
	DrainTimeout metav1.Duration
}

// Listener is an open port.
type Listener struct {
	// Name of the listener.
	// +contract:required
	Name string `json:"name"`

	// Port is the number of the port.
	// +contract:required
	Port int32 `json:"port"`

	// Weight is the share of connections.
	Weight int64 `json:"weight"`

	// Encrypted says that the port speaks TLS.
	Encrypted bool `json:"encrypted"`

	// ServerNames are the names for which there is a certificate.
	ServerNames []string `json:"serverNames"`

	// Headers are added to requests.
	Headers map[string]string `json:"headers"`

	// IdleTimeout takes precedence over that of the load balancer.
	IdleTimeout metav1.Duration `json:"idleTimeout"`

	// OpenSince is when the port was opened.
	// +contract:absentIf=null
	OpenSince metav1.Time `json:"openSince"`

	// HealthCheck takes precedence over that of the load balancer.
	HealthCheck HealthCheck `json:"healthCheck"`

	// Backends receive the connections.
	Backends []Backend `json:"backends"`
}

// HealthCheck says how to find out whether a backend works.
type HealthCheck struct {
	// Type of the check.
	// +contract:required
	// +contract:enum=TCP;HTTP
	Type string `json:"type"`

	// Path of the request.
	Path string `json:"path"`

	// Interval is the time between two checks.
	Interval metav1.Duration `json:"interval"`
}

// Backend is a server that does the work.
type Backend struct {
	// Address of the server.
	// +contract:required
	Address string `json:"address"`
}

// OpenPort is a port by its name.
type OpenPort struct {
	// Name of the listener.
	Name string `json:"name"`
}
