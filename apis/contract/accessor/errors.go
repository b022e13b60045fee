// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FieldError says that a contract field has a value the contract does not allow.
type FieldError struct {
	// Kind is the contract kind, for example InfraMachine.
	Kind string
	// Field is the contract field, for example Provisioned.
	Field string
	// Path is where the unusable value is, with a leading dot: the field's own path, a parent of it that is no
	// object, or an element of the list at it, for example .status.addresses[1].type.
	Path string
	// ContractVersion is the contract version under which the object was read.
	ContractVersion string
	// Expected is what the contract asks for, for example boolean.
	Expected string
	// Found describes the value, for example: string "true".
	Found string
}

// Error implements error.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: expected %s, found %s (contract version %s)", e.Path, e.Expected, e.Found, e.ContractVersion)
}

// FieldErrors are all contract fields of one object that have an unusable value: at most one error per field, in
// the order of the contract. It is the error type that the generated Wrap functions return.
type FieldErrors []*FieldError

// Error implements error. Fields that fail for the same reason, such as a parent that is no object, are said once.
func (e FieldErrors) Error() string {
	texts := make([]string, 0, len(e))
	for _, err := range e {
		if text := err.Error(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// For returns the error of one field, or nil if that field is usable.
func (e FieldErrors) For(field string) *FieldError {
	for _, err := range e {
		if err.Field == field {
			return err
		}
	}
	return nil
}

// Unwrap lets errors.As find a *FieldError.
func (e FieldErrors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}

// UnknownVersionError says that an object can't be read under a contract version that the contract does not define.
type UnknownVersionError struct {
	Kind      string
	Version   string
	Supported []string
}

// Error implements error.
func (e *UnknownVersionError) Error() string {
	return fmt.Sprintf("%s: contract version %q is unknown: use one of %s",
		e.Kind, e.Version, strings.Join(e.Supported, ", "))
}

// Finding says that an object has no value where its contract version looks for one, but has it where another
// contract version does. It is no error: the field reads as absent. It explains why it will stay absent.
type Finding struct {
	// Kind and Field name the contract field.
	Kind, Field string
	// Path is where the value is expected, with a leading dot, and ContractVersion the version that expects it.
	Path, ContractVersion string
	// FoundPath is where a value is, and FoundContractVersion the newest contract version that would read it.
	FoundPath, FoundContractVersion string
}

// String says it in a form that fits into a condition message.
func (f Finding) String() string {
	return fmt.Sprintf("%s is not at %s, where contract version %s has it, but at %s, where contract version %s has it",
		f.Field, f.Path, f.ContractVersion, f.FoundPath, f.FoundContractVersion)
}

// mismatch is an unusable value before it is known which field and contract version it belongs to.
// The path is relative to the value that was checked: "", "[1].type".
type mismatch struct {
	path, expected, found string
}

// under moves a mismatch below a key or an index.
func (m *mismatch) under(prefix string) *mismatch {
	m.path = prefix + m.path
	return m
}

// maxQuoted bounds how much of a foreign string a message repeats, in bytes.
const maxQuoted = 64

// describe names a JSON value for a message. Objects and lists are not spelled out: they may be large or hold secrets.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		if len(v) > maxQuoted {
			return fmt.Sprintf("string %q…", v[:maxQuoted])
		}
		return fmt.Sprintf("string %q", v)
	case bool:
		return fmt.Sprintf("boolean %t", v)
	case int64:
		return fmt.Sprintf("number %d", v)
	case float64:
		return "number " + describeFloat(v)
	case map[string]any:
		return "object"
	case []any:
		return "list"
	default:
		return fmt.Sprintf("Go value of type %T, which is no JSON value", v)
	}
}

// describeFloat keeps the point of a number that has no fraction: 1.0 is found where an integer is expected.
func describeFloat(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".eIN") {
		text += ".0"
	}
	return text
}
