// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package types has fields of types that are not supported.
package types

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Version is a version of the contract.
// +contract:versions=v2;v1
// +contract:labelPrefix=example.com/
type Version string

const (
	V2 Version = "v2"
	V1 Version = "v1"
)

// Phase is a string with a name.
type Phase string

// Part is a struct.
type Part struct {
	// A is a member.
	A string `json:"a"`
}

// Widget is a kind.
// +contract:kind
type Widget struct {
	// F1 is a float.
	// +contract:path=spec.f1
	// +contract:writer=user
	F1 float64

	// F2 is a number of unknown size.
	// +contract:path=spec.f2
	// +contract:writer=user
	F2 int

	// F3 is an unsigned number.
	// +contract:path=spec.f3
	// +contract:writer=user
	F3 uint32

	// F4 is a pointer.
	// +contract:path=spec.f4
	// +contract:writer=user
	F4 *string

	// F5 is anything.
	// +contract:path=spec.f5
	// +contract:writer=user
	F5 any

	// F6 is a string with a name.
	// +contract:path=spec.f6
	// +contract:writer=user
	F6 Phase

	// F7 is a list of numbers.
	// +contract:path=spec.f7
	// +contract:writer=user
	F7 []int64

	// F8 is a list of lists.
	// +contract:path=spec.f8
	// +contract:writer=user
	F8 [][]string

	// F9 is an array.
	// +contract:path=spec.f9
	// +contract:writer=user
	F9 [2]string

	// F10 is a list of pointers.
	// +contract:path=spec.f10
	// +contract:writer=user
	F10 []*Part

	// F11 is a map of numbers.
	// +contract:path=spec.f11
	// +contract:writer=user
	F11 map[string]int64

	// F12 is a map with numbers as keys.
	// +contract:path=spec.f12
	// +contract:writer=user
	F12 map[int64]string

	// F13 is a time of another package.
	// +contract:path=spec.f13
	// +contract:writer=user
	F13 time.Time

	// F14 is a struct of another package.
	// +contract:path=spec.f14
	// +contract:writer=user
	F14 metav1.LabelSelector

	// F15 is a list of those.
	// +contract:path=spec.f15
	// +contract:writer=user
	F15 []metav1.Condition

	// F16 is a kind.
	// +contract:path=spec.f16
	// +contract:writer=user
	F16 Gadget

	// F17 is a struct without a name.
	// +contract:path=spec.f17
	// +contract:writer=user
	F17 struct{ A string }

	// F18 is a function.
	// +contract:path=spec.f18
	// +contract:writer=user
	F18 func()
}

// Gadget is a kind.
// +contract:kind
type Gadget struct {
	// A is a field.
	// +contract:path=spec.a
	// +contract:writer=user
	A string
}
