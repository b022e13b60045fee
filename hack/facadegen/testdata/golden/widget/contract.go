// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package widget is the contract that the golden files are generated from.
package widget

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Version is a version of the contract.
//
// +contract:versions=v2;v1
// +contract:labelPrefix=widgets.example.com/
type Version string

// The contract versions.
const (
	V2 Version = "v2"
	V1 Version = "v1"
)

// Widget is a thing.
// It has a description of more than one line.
//
// +contract:kind
// +contract:crd:scope=Cluster,statusSubresource=true,pluralName=true
type Widget struct {
	// Type is a field whose name is a keyword of Go when it is not exported.
	// +contract:path=spec.type
	// +contract:enum=Round;Square
	// +contract:default=Round
	// +contract:writer=user
	Type string

	// IPAddress is a field whose name begins with initials.
	// +contract:path:v1=status.ip
	// +contract:path:v2=status.address;status.ip
	// +contract:required
	// +contract:writer=provider
	IPAddress string

	// Ready moved.
	// +contract:path:v1=status.ready
	// +contract:path:v2=status.state.ready
	// +contract:default=false
	// +contract:deprecated
	// +contract:writer=provider
	Ready bool

	// Retries is new. A | in its description is not the end of a cell.
	// +contract:path=spec.retries
	// +contract:path:v1=-
	// +contract:writer=user
	Retries int32

	// Size may be null.
	// +contract:path=spec.size
	// +contract:absentIf=null
	// +contract:lenient
	// +contract:writer=user
	Size int64

	// Timeout may be empty.
	// +contract:path=spec.timeout
	// +contract:absentIf=empty
	// +contract:writer=user
	Timeout metav1.Duration

	// Zones is a list.
	// +contract:path=spec.zones
	// +contract:writer=user
	Zones []string

	// Tags is a map.
	// +contract:path=spec.tags
	// +contract:writer=user
	Tags map[string]string

	// Origin is a struct.
	// +contract:path=spec.origin
	// +contract:writer=user
	Origin Part

	// Parts is a list of structs.
	// +contract:path=spec.parts
	// +contract:skipNonObjects
	// +contract:writer=user
	Parts []Part

	// LenientParts reads the same.
	// +contract:path=spec.parts;spec.oldParts
	// +contract:home:v1=spec.oldParts
	// +contract:sharesPathWith=Parts
	// +contract:lenient
	// +contract:informational
	// +contract:writer=user
	LenientParts []Part

	// Tier is a label.
	// +contract:label=widgets.example.com/tier
	// +contract:writer=user
	Tier string

	// Until is an annotation.
	// +contract:annotation=widgets.example.com/until
	// +contract:writer=user
	Until metav1.Time

	// Frozen is the presence of an annotation.
	// +contract:annotation=widgets.example.com/frozen
	// +contract:presence
	// +contract:writer=user
	Frozen bool
}

// Part is a part of a widget.
type Part struct {
	// Name of the part.
	// +contract:required
	Name string `json:"name,omitempty"`

	// Count is how many there are.
	Count int32 `json:"count"`

	// Made is when it was made.
	// +contract:absentIf=null;empty
	Made metav1.Time `json:"made"`

	// Colours it comes in.
	// +contract:absentIf=null
	Colours []string `json:"colours"`

	// Tags of the part.
	Tags map[string]string `json:"tags"`

	// Screw is what holds it.
	Screw Screw `json:"screw"`

	// Screws are what hold it as well.
	Screws []Screw `json:"screws"`
}

// Screw is a part of a part.
type Screw struct {
	// Length of the screw.
	Length int64 `json:"length"`

	// Life is how long it lasts.
	Life metav1.Duration `json:"life"`

	// Hex says that it takes a hex key.
	Hex bool `json:"hex"`
}
