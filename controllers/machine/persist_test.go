// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var _ = DescribeTable("The note of an event is one that the API server accepts",
	func(note, expected string) {
		Expect(shorten(note)).To(Equal(expected))
		Expect(len(shorten(note))).To(BeNumerically("<=", 1024))
		Expect(utf8.ValidString(shorten(note))).To(BeTrue())
	},
	Entry("short", "node-0", "node-0"),
	Entry("as long as may be", strings.Repeat("x", 1024), strings.Repeat("x", 1024)),
	Entry("one too long", strings.Repeat("x", 1025), strings.Repeat("x", 1021)+"…"),
	Entry("cut within a character", strings.Repeat("ü", 600), strings.Repeat("ü", 510)+"…"),
)

var _ = It("A flag that went up is not lost with a status that was not written yet", func() {
	var deferred deferredStatus
	provisioned := &scope{machine: &clusterv1.Machine{}, stored: &clusterv1.Machine{}}
	provisioned.machine.UID = "m"
	provisioned.machine.Status.Initialization.InfrastructureProvisioned = new(true)
	Expect(deferred.wait(provisioned)).To(Equal(statusDelay))

	later := &scope{machine: &clusterv1.Machine{}, stored: &clusterv1.Machine{}}
	later.machine.UID = "m"
	deferred.restore(later)
	Expect(later.infrastructureProvisioned()).To(BeTrue())
	Expect(later.dataSecretCreated()).To(BeFalse())

	deferred.forget("m")
	fresh := &scope{machine: &clusterv1.Machine{}, stored: &clusterv1.Machine{}}
	fresh.machine.UID = "m"
	deferred.restore(fresh)
	Expect(fresh.infrastructureProvisioned()).To(BeFalse())
})
