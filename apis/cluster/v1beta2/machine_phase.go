// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// MachinePhase is a one-word summary of a Machine for people. It loses information on purpose; programs decide by
// conditions and by status.initialization.
type MachinePhase string

const (
	// MachinePhasePending: created, waiting for the bootstrap data.
	MachinePhasePending = MachinePhase("Pending")

	// MachinePhaseProvisioning: the bootstrap data is there, the infrastructure provider is at work.
	MachinePhaseProvisioning = MachinePhase("Provisioning")

	// MachinePhaseProvisioned: the machine has a provider ID, its Node has not been seen yet.
	MachinePhaseProvisioned = MachinePhase("Provisioned")

	// MachinePhaseRunning: the Node has joined. It does not say that the Node is healthy.
	MachinePhaseRunning = MachinePhase("Running")

	// MachinePhaseUpdating: the machine is being changed in place. Readers of v1beta1 see Running.
	MachinePhaseUpdating = MachinePhase("Updating")

	// MachinePhaseDeleting: deletion was asked for and is not complete. The Deleting condition says where it is.
	MachinePhaseDeleting = MachinePhase("Deleting")

	// MachinePhaseDeleted is accepted, but the Machine controller never sets it: a deleted Machine is gone.
	MachinePhaseDeleted = MachinePhase("Deleted")

	// MachinePhaseFailed is accepted for objects written as v1beta1. It is deprecated and no controller sets it.
	MachinePhaseFailed = MachinePhase("Failed")

	// MachinePhaseUnknown is what GetTypedPhase returns for anything else.
	MachinePhaseUnknown = MachinePhase("Unknown")
)

// SetTypedPhase sets the phase. It does not touch lastUpdated.
func (m *MachineStatus) SetTypedPhase(p MachinePhase) {
	m.Phase = string(p)
}

// GetTypedPhase returns the phase, or MachinePhaseUnknown if it is empty or not one of the constants above.
func (m *MachineStatus) GetTypedPhase() MachinePhase {
	switch phase := MachinePhase(m.Phase); phase {
	case MachinePhasePending, MachinePhaseProvisioning, MachinePhaseProvisioned, MachinePhaseRunning,
		MachinePhaseUpdating, MachinePhaseDeleting, MachinePhaseDeleted, MachinePhaseFailed:
		return phase
	default:
		return MachinePhaseUnknown
	}
}
