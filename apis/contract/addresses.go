// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

// MachineAddress is one address of a machine. Types other than Hostname, ExternalIP, InternalIP, ExternalDNS and
// InternalDNS, empty addresses and addresses of more than 256 bytes are passed on as they are: the API of Machine
// refuses them, so check an address before you copy it there.
type MachineAddress struct {
	// Type of the address, for example InternalIP.
	Type string `json:"type"`

	// Address is an IP address or a DNS name.
	Address string `json:"address"`
}
