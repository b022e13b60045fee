// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/generated/facade"
	"github.com/machinist-dev/machinist/generated/facadetest"
	"github.com/machinist-dev/machinist/test/matcher"
)

var (
	infra = facadetest.NewInfraMachine(contract.V1Beta2)
	ip    = contract.MachineAddress{Type: "InternalIP", Address: "10.0.0.1"}
)

// infraMachine wraps what a provider has written.
func infraMachine(object facadetest.InfraMachineBuilder) facade.InfraMachine {
	GinkgoHelper()
	wrapped, err := facade.WrapInfraMachine(object.Build(), contract.V1Beta2)
	Expect(err).NotTo(HaveOccurred())
	return wrapped
}

var _ = Describe("what a Machine takes over from its InfraMachine", func() {
	const id = "sim:///1"
	before := func(s *scope) {
		s.machine.Spec.FailureDomain, s.machine.Status.FailureDomain = "spec-before", "status-before"
		s.machine.Status.Addresses = clusterv1.MachineAddresses{{Type: clusterv1.MachineHostName, Address: "before"}}
	}

	It("is the provider ID, the addresses and both failure domains", func() {
		s := knowing(before)
		from := infra.WithAddresses([]contract.MachineAddress{ip, {Type: "Hostname", Address: "one"}}).WithFailureDomain("a").WithDeprecatedFailureDomain("b")
		Expect(copyInfrastructure(s, infraMachine(from), id)).To(Succeed())
		Expect(s.machine.Spec.ProviderID).To(Equal(id))
		Expect(s.machine.Status.Addresses).To(HaveExactElements(
			clusterv1.MachineAddress{Type: "InternalIP", Address: "10.0.0.1"}, clusterv1.MachineAddress{Type: "Hostname", Address: "one"}))
		Expect(s.machine.Status.FailureDomain).To(Equal("a"))
		Expect(s.machine.Spec.FailureDomain).To(Equal("b"))
		Expect(s.infrastructureProvisioned()).To(BeTrue())
	})

	It("leaves alone what the InfraMachine doesn't report", func() {
		s := knowing(before)
		Expect(copyInfrastructure(s, infraMachine(infra), id)).To(Succeed())
		Expect(s.machine.Status.Addresses).To(HaveExactElements(clusterv1.MachineAddress{Type: "Hostname", Address: "before"}))
		Expect(s.machine.Status.FailureDomain).To(Equal("status-before"))
		Expect(s.machine.Spec.FailureDomain).To(Equal("spec-before"))
	})

	DescribeTable("is nothing at all if a field doesn't fit", func(id string, from facadetest.InfraMachineBuilder, field, path, expected, found string) {
		s := knowing(before)
		unchanged := s.machine.DeepCopy()
		err := copyInfrastructure(s, infraMachine(from), id)
		Expect(err).To(MatchError(fmt.Sprintf("%s: expected %s, found %s (contract version v1beta2)", path, expected, found)))
		fieldError, _ := errors.AsType[*accessor.FieldError](err)
		Expect(fieldError).To(And(HaveField("Kind", "SimMachine"), HaveField("Field", field)))
		Expect(s.machine).To(Equal(unchanged))
	},
		Entry("provider ID", strings.Repeat("x", 513), infra, "ProviderID", ".spec.providerID", "at most 512 characters", "513"),
		Entry("failure domain", id, infra.WithFailureDomain(strings.Repeat("ü", 257)), "FailureDomain", ".status.failureDomain", "at most 256 characters", "257"),
		Entry("failure domain in spec", id, infra.WithDeprecatedFailureDomain(strings.Repeat("x", 257)), "DeprecatedFailureDomain", ".spec.failureDomain", "at most 256 characters", "257"),
	)

	It("is what just fits, in characters and not in bytes", func() {
		s := knowing()
		domain := strings.Repeat("ü", 256)
		from := infra.WithFailureDomain(domain).WithDeprecatedFailureDomain(domain).WithAddresses([]contract.MachineAddress{{Type: "InternalDNS", Address: domain}})
		Expect(copyInfrastructure(s, infraMachine(from), strings.Repeat("ü", 512))).To(Succeed())
		Expect(s.machine).To(matcher.HaveValidStatus())
		Expect(s.machine.Status.Addresses).To(HaveLen(1))
	})

	DescribeTable("leaves out an address that doesn't fit, and keeps the others", func(bad contract.MachineAddress, path, expected, found string) {
		s := knowing(before)
		from := infra.WithAddresses([]contract.MachineAddress{bad, ip, bad})
		Expect(copyInfrastructure(s, infraMachine(from), id)).To(MatchError(
			fmt.Sprintf(".status.addresses[0].%s: expected %s, found %s (contract version v1beta2)", path, expected, found)))
		Expect(s.machine.Status.Addresses).To(HaveExactElements(clusterv1.MachineAddress{Type: "InternalIP", Address: "10.0.0.1"}))
		Expect(s.machine.Spec.ProviderID).To(Equal(id))
		Expect(s.infrastructureProvisioned()).To(BeTrue())
		Expect(s.machine).To(matcher.HaveValidStatus())
	},
		Entry("unknown type", contract.MachineAddress{Type: "IPv6", Address: "::1"}, "type", "one of [Hostname ExternalIP InternalIP ExternalDNS InternalDNS]", `"IPv6"`),
		Entry("no address", contract.MachineAddress{Type: "InternalIP"}, "address", "1 to 256 characters", "0"),
		Entry("long address", contract.MachineAddress{Type: "InternalIP", Address: strings.Repeat("ü", 257)}, "address", "1 to 256 characters", "257"),
	)

	It("is at most 256 addresses", func() {
		s := knowing()
		var many []contract.MachineAddress
		for range 257 {
			many = append(many, ip)
		}
		Expect(copyInfrastructure(s, infraMachine(infra.WithAddresses(many)), id)).To(MatchError(
			".status.addresses: expected at most 256 items, found 257 (contract version v1beta2)"))
		Expect(s.machine.Status.Addresses).To(HaveLen(256))
		Expect(s.machine).To(matcher.HaveValidStatus())
	})

	It("is always what the API server accepts", func() {
		anyString := rapid.OneOf(rapid.String(), rapid.Map(rapid.SampledFrom([]int{0, 1, 255, 256, 257, 511, 512, 513}), func(n int) string { return strings.Repeat("ü", n) }))
		anyAddress := rapid.Custom(func(t *rapid.T) contract.MachineAddress {
			return contract.MachineAddress{Type: rapid.SampledFrom([]string{"InternalIP", "Hostname", "ExternalDNS", "", "IPv6"}).Draw(t, "type"), Address: anyString.Draw(t, "address")}
		})
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			s := knowing()
			from := infra.WithFailureDomain(anyString.Draw(t, "failure domain")).WithAddresses(rapid.SliceOf(anyAddress).Draw(t, "addresses"))
			wrapped, err := facade.WrapInfraMachine(from.Build(), contract.V1Beta2)
			if err != nil {
				return // no such fields get this far
			}
			err = copyInfrastructure(s, wrapped, "sim:///1")
			s.machine.Status.Phase = "Pending" // a status without any property is no status
			NewWithT(t).Expect(s.machine).To(matcher.HaveValidStatus(), "%v", err)
		})
	})
})

var _ = Describe("the deprecated failure message", func() {
	It("fits into the CRD, in characters", func() {
		for _, n := range []int{0, 10239, 10240, 10241} {
			s := knowing()
			deprecatedStatus(s.machine).FailureMessage = new(limitMessage("x" + strings.Repeat("ü", n)))
			Expect(s.machine).To(matcher.HaveValidStatus(), "%d characters", n+1)
		}
		Expect(limitMessage("a\xffb")).To(Equal("ab"))
		Expect(limitMessage(strings.Repeat("\xff", 20000))).To(HavePrefix("\uFFFD"))
	})
})
