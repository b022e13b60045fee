// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package crdcheck

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"

	"github.com/machinist-dev/machinist/apis/contract/accessor"
)

// Check returns what keeps the CRD from being of the contract kind: first what concerns it as a whole, then per
// declared contract version, newest first, in the order of the contract. It returns nothing if the CRD conforms.
//
// A CRD that declares no contract version is checked for its fields all the same, at its highest served API version and
// against the contract version that it comes closest to.
func Check(spec accessor.KindSpec, crd *unstructured.Unstructured) []Finding {
	definition, malformed := parse(crd)
	if len(malformed) > 0 {
		return malformed
	}
	c := &checker{spec: spec, definition: definition}
	c.checkWhole()
	declared := false
	for index, contractVersion := range spec.Versions {
		value := definition.labels[spec.LabelPrefix+contractVersion]
		if value == "" {
			continue
		}
		declared = true
		_, apiVersion, _ := accessor.Resolve(spec.LabelPrefix, spec.Versions[index:], definition.labels)
		c.findings = append(c.findings, c.checkVersion(index, apiVersion)...)
	}
	if !declared {
		c.checkUndeclared()
	}
	return c.findings
}

type checker struct {
	spec       accessor.KindSpec
	definition *definition
	findings   []Finding
}

func (c *checker) checkWhole() {
	d, rules := c.definition, c.spec.CRD
	if rules.Scope != "" && d.scope != rules.Scope {
		c.findings = append(c.findings, Finding{Code: Scope, Message: fmt.Sprintf("the scope is %q, expected %s", d.scope, rules.Scope)})
	}
	if want := accessor.CRDName(d.group, d.kind); rules.PluralName && d.name != want {
		c.findings = append(c.findings, Finding{Code: CRDName, Message: fmt.Sprintf("the name is %s, expected %s: readers find the CRD by it", d.name, want)})
	}
}

// checkVersion checks one contract version at one API version.
func (c *checker) checkVersion(contract int, apiVersion string) []Finding {
	contractVersion := c.spec.Versions[contract]
	label := c.spec.LabelPrefix + contractVersion
	finding := Finding{ContractVersion: contractVersion, APIVersion: apiVersion}
	v, exists := c.definition.versions[apiVersion]
	if !exists {
		finding.Code = VersionMissing
		finding.Message = fmt.Sprintf("the label %s names API version %s, which the CRD doesn't have", label, apiVersion)
		return []Finding{finding}
	}
	var findings []Finding
	if !v.served {
		finding.Code = VersionNotServed
		finding.Message = fmt.Sprintf("the label %s names API version %s, which is not served", label, apiVersion)
		findings = append(findings, finding)
	}
	if c.spec.CRD.StatusSubresource && !v.statusSubresource {
		finding.Code = NoStatusSubresource
		finding.Message = fmt.Sprintf("API version %s has no status subresource", apiVersion)
		findings = append(findings, finding)
	}
	return append(findings, c.checkFields(contract, apiVersion, v.schema)...)
}

func (c *checker) checkUndeclared() {
	apiVersion := c.definition.highestServed()
	best, bestFit := []Finding(nil), -1
	for contract := range c.spec.Versions {
		if apiVersion == "" {
			break
		}
		if findings := c.checkVersion(contract, apiVersion); bestFit < 0 || len(findings) < len(best) {
			best, bestFit = findings, contract
		}
	}
	labels := make([]string, len(c.spec.Versions))
	for i, contractVersion := range c.spec.Versions {
		labels[i] = c.spec.LabelPrefix + contractVersion
	}
	message := "none of the labels " + strings.Join(labels, ", ") + " is there and not empty, so nobody can read objects of this kind"
	if bestFit >= 0 && len(best) == 0 {
		message += fmt.Sprintf("; %s=%s would fit", labels[bestFit], apiVersion)
	}
	c.findings = append(c.findings, Finding{Code: NoContractLabel, Message: message})
	c.findings = append(c.findings, best...)
}

func (c *checker) checkFields(contract int, apiVersion string, root schema) []Finding {
	var findings []Finding
	report := func(code Code, path, message string) {
		f := Finding{code, c.spec.Versions[contract], apiVersion, path, message}
		// Fields that share a path say the same about it.
		if !slices.Contains(findings, f) {
			findings = append(findings, f)
		}
	}
	for i := range c.spec.Fields {
		field := &c.spec.Fields[i]
		if field.Label != "" || field.Annotation != "" {
			continue
		}
		paths := field.Paths[contract]
		found := false
		for _, dotted := range paths {
			s, place := root.at(accessor.ParsePath(dotted))
			found = found || place != nowhere
			for _, wrong := range s.mismatches(place, dotted, &field.Type) {
				report(wrong.code, wrong.path, wrong.text+" ("+apiVersion+")")
			}
		}
		if field.Required && !found && len(paths) > 0 {
			report(FieldMissing, paths[0], strings.Join(paths, " or ")+" is not in the schema of "+apiVersion+root.hint(paths[0]))
		}
	}
	return findings
}

// highestServed is the highest served API version in Kubernetes version order, or "".
func (d *definition) highestServed() string {
	best := ""
	for name, v := range d.versions {
		if v.served && (best == "" || version.CompareKubeAwareVersionStrings(name, best) > 0) {
			best = name
		}
	}
	return best
}
