// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import "fmt"

// Mode is what is done about findings. Empty, it is the same as Off. It implements pflag.Value.
type Mode string

const (
	// Off judges nothing.
	Off Mode = "off"
	// Warn answers with warnings, whatever is found.
	Warn Mode = "warn"
	// Enforce denies what can't work or would harm others, and warns about the rest.
	Enforce Mode = "enforce"
)

// Set implements pflag.Value.
func (m *Mode) Set(value string) error {
	switch mode := Mode(value); mode {
	case Off, Warn, Enforce:
		*m = mode
		return nil
	}
	return fmt.Errorf("expected %s, %s or %s, found %q", Off, Warn, Enforce, value)
}

// String implements pflag.Value.
func (m *Mode) String() string { return string(*m) }

// Type implements pflag.Value.
func (m *Mode) Type() string { return "mode" }
