// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/generated/facade"
	"github.com/machinist-dev/machinist/generated/facadetest"
)

var (
	provisioned   = infra.WithProviderID("sim:///1").WithProvisioned(true)
	badConditions = []any{map[string]any{"type": "Ready"}}
)

var _ = Describe("the errors of a provider object", func() {
	const inConditions = ".status.conditions[0].status"
	const inFields = ".spec.providerID: expected string, found number 7"

	DescribeTable("are about its conditions or about other fields", func(object facadetest.InfraMachineBuilder, fields, conditions string) {
		_, err := facade.WrapInfraMachine(object.Build(), contract.V1Beta2)
		wrong := sortFieldErrors(err)
		expect := func(err error, text string) {
			GinkgoHelper()
			if text == "" {
				Expect(err).NotTo(HaveOccurred())
			} else {
				Expect(err).To(MatchError(HavePrefix(text)))
			}
		}
		expect(wrong.fields, fields)
		expect(wrong.conditions, conditions)
	},
		Entry("none", provisioned, "", ""),
		Entry("a condition without status", provisioned.WithValue(badConditions, "status", "conditions"), "", inConditions),
		Entry("a field", provisioned.WithValue(int64(7), "spec", "providerID"), inFields, ""),
		Entry("both", provisioned.WithValue(int64(7), "spec", "providerID").WithValue(badConditions, "status", "conditions"), inFields, inConditions),
		Entry("conditions of the older form, which are read as well as can be", provisioned.WithValue("none", "status", "deprecated", "v1beta1", "conditions"), "", ""),
	)

	It("are about the object if they are about no field", func() {
		Expect(sortFieldErrors(errors.New("unknown contract version"))).To(Equal(fieldProblems{fields: errors.New("unknown contract version")}))
		Expect(sortFieldErrors(nil)).To(BeZero())
	})

	It("keep conditions from being mirrored, but nothing else", func() {
		object := provisioned.WithValue(badConditions, "status", "conditions").Build()
		wrapped, err := facade.WrapInfraMachine(object, contract.V1Beta2)
		s := knowing(flags(false, true))
		s.infra.fields = wrapped
		wrong := sortFieldErrors(err)
		s.infra.problem, s.infra.readyErr = wrong.fields, wrong.conditions
		Expect(infrastructureReady(s)).To(And(HaveField("Status", unknown), HaveField("Reason", "InvalidConditionReported"), HaveField("Message", HavePrefix(inConditions))))
		Expect(copyInfrastructure(s, wrapped, "sim:///1")).To(Succeed())
	})
})
