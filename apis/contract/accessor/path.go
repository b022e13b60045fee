// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import (
	"slices"
	"strings"
)

// Path names a place in an object, one key per element. It has no list indexes: a contract promises whole lists.
type Path []string

// ParsePath splits a dotted path such as "status.initialization.provisioned".
// Keys that contain dots (labels, annotations) can't be written like that; build those paths as slices.
func ParsePath(dotted string) Path { return strings.Split(dotted, ".") }

// String joins the keys with dots. A key that contains a dot or a slash is put in brackets, as in
// "metadata.labels[cluster.x-k8s.io/cluster-name]".
func (p Path) String() string {
	var b strings.Builder
	for i, key := range p {
		switch {
		case strings.ContainsAny(key, "./"):
			b.WriteString("[" + key + "]")
		case i > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

// Append returns the path with keys added. The receiver is never changed, nor is its memory shared.
func (p Path) Append(keys ...string) Path { return slices.Concat(p, keys) }

// Equal says whether both paths name the same place.
func (p Path) Equal(other Path) bool { return slices.Equal(p, other) }

// IsParentOf says whether other lies below p. A path is not its own parent.
func (p Path) IsParentOf(other Path) bool {
	return len(p) < len(other) && slices.Equal(p, other[:len(p)])
}

// Overlaps says whether writing to one path can change what is read at the other: they are equal, or one is the
// parent of the other.
func (p Path) Overlaps(other Path) bool {
	return p.Equal(other) || p.IsParentOf(other) || other.IsParentOf(p)
}

// rendered is the form used in messages, with a leading dot.
func (p Path) rendered() string { return "." + p.String() }
