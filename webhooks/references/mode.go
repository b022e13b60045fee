// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import "fmt"

// Mode is what is done about findings. It implements pflag.Value. The zero value is none of the modes, so that nobody turns
// everything off by saying nothing.
type Mode string

const (
	// Off judges nothing.
	Off Mode = "off"
	// Warn answers with warnings, whatever is found.
	Warn Mode = "warn"
	// Enforce denies what can't work or would harm others, and warns about the rest.
	Enforce Mode = "enforce"
)

// Validate returns an error if it is none of the modes.
func (m *Mode) Validate() error {
	switch *m {
	case Off, Warn, Enforce:
		return nil
	}
	return fmt.Errorf("expected %s, %s or %s, found %q", Off, Warn, Enforce, *m)
}

// Set implements pflag.Value.
func (m *Mode) Set(value string) error {
	mode := Mode(value)
	if err := mode.Validate(); err != nil {
		return err
	}
	*m = mode
	return nil
}

// String implements pflag.Value.
func (m *Mode) String() string { return string(*m) }

// Type implements pflag.Value.
func (m *Mode) Type() string { return "mode" }
