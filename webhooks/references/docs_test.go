// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = It("The table of rules in the documentation is the list of rules", func() {
	page, err := os.ReadFile("../../docs/admission.md")
	Expect(err).NotTo(HaveOccurred())
	Expect(string(page)).To(ContainSubstring(table()), "expected this table:\n%s", table())
})

// table is the rules as they are in the documentation.
func table() string {
	enforced := map[severity]string{refuse: "denied", refuseCreation: "denied on CREATE, else warning", advise: "warning"}
	text := &strings.Builder{}
	fmt.Fprintln(text, "| rule | field | finds that | `warn` | `enforce` |")
	fmt.Fprintln(text, "| --- | --- | --- | --- | --- |")
	for _, r := range append(append([]rule{}, rules...), olderRules...) {
		fields := make([]string, len(r.parts))
		for i, p := range r.parts {
			fields[i] = "`" + strings.TrimPrefix(strings.TrimPrefix(p.path.String(), "spec."), "bootstrap.") + "`"
		}
		fmt.Fprintf(text, "| %s | %s | %s | warning | %s |\n", r.id, strings.Join(fields, ", "), r.situation, enforced[r.severity])
	}
	return text.String()
}
