// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/apis/contract/crdcheck"
	"github.com/machinist-dev/machinist/generated/facade"
)

// providerData returns the folder with CRDs and objects of real providers: MACHINIST_PROVIDER_DATA, or
// ../shared/data/providers beside the repository. They are other people's files and not part of it.
func providerData(tb testing.TB) string {
	tb.Helper()
	folder := os.Getenv("MACHINIST_PROVIDER_DATA")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "shared", "data", "providers")
	}
	if _, err := os.Stat(folder); err != nil {
		tb.Skipf("no provider data to check against, set MACHINIST_PROVIDER_DATA to its folder: %v", err)
	}
	return folder
}

func readYAML(tb testing.TB, file string, into any) {
	tb.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
}

func readObject(tb testing.TB, file string) *unstructured.Unstructured {
	tb.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	source, err := yaml.YAMLToJSON(content)
	if err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	return parse(tb, string(source))
}

// verdict is what people found out about a CRD by reading it.
type verdict struct {
	File, Kind, Role string
	Contracts        map[string]struct {
		Declared   bool
		APIVersion string
		Problems   []problem
	}
	Effective struct{ Contract, APIVersion string }
	Problems  []problem
}

type problem struct{ Code, Text string }

var crdChecks = map[string]func(*unstructured.Unstructured) []crdcheck.Finding{
	"InfraMachine":    facade.CheckInfraMachineCRD,
	"BootstrapConfig": facade.CheckBootstrapConfigCRD,
	// A kind of a provider's own that carries the labels of an InfraMachine.
	"other": facade.CheckInfraMachineCRD,
}

func TestProviderCRDs(t *testing.T) {
	folder := providerData(t)
	var verdicts struct{ CRDs []verdict }
	readYAML(t, filepath.Join(folder, "verdicts.yaml"), &verdicts)
	if len(verdicts.CRDs) == 0 {
		t.Fatal("verdicts.yaml has no CRDs")
	}
	listed := map[string]bool{}
	for _, v := range verdicts.CRDs {
		listed[filepath.FromSlash(v.File)] = true
		t.Run(v.File, func(t *testing.T) {
			check := crdChecks[v.Role]
			if check == nil {
				t.Fatalf("unknown role %q", v.Role)
			}
			crd := readObject(t, filepath.Join(folder, v.File))
			// Contract version, code and what the message begins with.
			got := map[string][]string{}
			for _, f := range check(crd) {
				got[f.ContractVersion] = append(got[f.ContractVersion], string(f.Code)+" "+f.Path)
				if declared := v.Contracts[f.ContractVersion]; declared.Declared && f.APIVersion != declared.APIVersion {
					t.Errorf("%s was checked at API version %s, not %s", f.ContractVersion, f.APIVersion, declared.APIVersion)
				}
			}
			if diff := cmp.Diff(wantFindings(v), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			checkResolution(t, crd, v)
		})
	}
	files, err := filepath.Glob(filepath.Join(folder, "*", "crd_*.yaml"))
	if err != nil || len(files) != len(listed) {
		t.Errorf("%d CRDs, %d verdicts, %v", len(files), len(listed), err)
	}
}

// wantFindings is the verdict in the form of findings. Without a label the CRD is checked against the nearest contract
// version, for which the verdict only has the fields.
func wantFindings(v verdict) map[string][]string {
	want := map[string][]string{}
	add := func(contractVersion string, p problem) {
		path := ""
		if strings.HasPrefix(p.Code, "field-") {
			path, _, _ = strings.Cut(p.Text, " ")
		}
		want[contractVersion] = append(want[contractVersion], p.Code+" "+path)
	}
	for _, p := range v.Problems {
		switch {
		case strings.HasPrefix(p.Code, "field-"):
			add("v1beta1", p)
		default:
			add("", p)
		}
	}
	for contractVersion, c := range v.Contracts {
		for _, p := range c.Problems {
			add(contractVersion, p)
		}
	}
	return want
}

func checkResolution(t *testing.T, crd *unstructured.Unstructured, v verdict) {
	t.Helper()
	got, err := contract.Resolve(crd.GetLabels())
	want := contract.Resolution{ContractVersion: contract.Version(v.Effective.Contract), APIVersion: v.Effective.APIVersion}
	if got != want || (err == nil) != (v.Effective.Contract != "") {
		t.Errorf("resolved %v, %v; want %v", got, err, want)
	}
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	if name := contract.CRDName(group, kind); name != crd.GetName() {
		t.Errorf("the CRD would be looked for as %s", name)
	}
}

// The objects of real providers, as they are read, and what pruning leaves of them.
func TestProviderObjects(t *testing.T) {
	folder := providerData(t)
	infra := func(file string, version contract.Version) facade.InfraMachine {
		m, err := facade.WrapInfraMachine(readObject(t, filepath.Join(folder, file)), version)
		if err != nil {
			t.Logf("%s: %v", file, err)
		}
		return m
	}
	m := infra("kubevirt/object_kubevirtmachine_ready-only.yaml", contract.V1Beta2)
	if m.Provisioned() || len(m.Findings()) != 1 || m.Findings()[0].FoundPath != ".status.ready" {
		t.Errorf("a machine of contract version v1beta1 read as v1beta2: %t, %v", m.Provisioned(), m.Findings())
	}
	if m := infra("openstack/object_openstackmachine_v1beta1.yaml", contract.V1Beta1); !m.Provisioned() || m.Findings() != nil {
		t.Errorf("a machine of both contract versions: %t, %v", m.Provisioned(), m.Findings())
	}
	if m := infra("harvester/object_harvestermachine_ready-string.yaml", contract.V1Beta1); m.Provisioned() {
		t.Error("the string true was taken for true")
	}
	m = infra("openstack/object_openstackmachine_failuredomain-object.yaml", contract.V1Beta1)
	if _, found := m.FailureDomain(); found || !m.Provisioned() {
		t.Error("an unusable failure domain spoiled the rest, or was read")
	}
	if _, found := infra("hypervisor/object_hypervisormachine.yaml", contract.V1Beta1).ProviderID(); found {
		t.Error("a provider ID was read from where no contract has it")
	}

	secret := readObject(t, filepath.Join(folder, "talos/object_talosconfig_v1alpha3.yaml"))
	facade.PruneBootstrapConfig(secret)
	if _, found, _ := unstructured.NestedFieldNoCopy(secret.Object, "status", "talosConfig"); found {
		t.Error("pruning left credentials in the object")
	}

	files, err := filepath.Glob(filepath.Join(folder, "*", "object_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d objects, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			checkInvisible(t, readObject(t, file))
		})
	}
}
