// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// ErrBehind says that the cache is behind the API server: what was about to be done was based on something old.
var ErrBehind = errors.New("the cache is behind the API server")

// KindProblem classifies why objects of a kind can't be read.
type KindProblem string

const (
	// CRDMissing means that no CustomResourceDefinition of the contract's naming rule is installed.
	CRDMissing KindProblem = "CustomResourceDefinitionMissing"
	// ContractUnknown means that the CustomResourceDefinition declares no contract version that we support.
	ContractUnknown KindProblem = "ContractVersionUnknown"
	// NotSynced means that the informer of the kind has not listed its objects yet.
	NotSynced KindProblem = "KindNotSynced"
)

// KindError says why no object of a kind can be read at the moment. It is never permanent: the Machines of the kind are
// enqueued when the cause goes.
type KindError struct {
	Kind    Kind
	Problem KindProblem
	// pending is true while the first list is under way and nothing has gone wrong.
	pending bool
	// Message is a full sentence for people: what was looked for, what was found, what to do.
	Message string
}

// Error implements error.
func (e *KindError) Error() string {
	return e.Message
}

// OwnedError says that a provider object is controlled by somebody else, so it can't be used by this Machine.
type OwnedError struct {
	Kind  string
	Key   types.NamespacedName
	Owner string
}

// Error implements error.
func (e *OwnedError) Error() string {
	return fmt.Sprintf("%s %s is already controlled by %s: reference another object, or delete that owner", e.Kind, e.Key, e.Owner)
}
