// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
)

func TestFilesGetALinePerChange(t *testing.T) {
	var out strings.Builder
	s := newScreen(&out)
	a, b := row{name: "a", phase: "Pending", waitsFor: "bootstrap data"}, row{name: "b", phase: "Running", node: "b"}
	s.table([]row{a, b})
	s.table([]row{a, b})
	a.phase = "Running"
	s.table([]row{a, b})
	s.table([]row{a})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("expected 4 lines, found %d:\n%s", len(lines), out.String())
	}
	for i, expected := range []string{"bootstrap data", "Running", "Running", "gone"} {
		if !strings.Contains(lines[i], expected) {
			t.Errorf("line %d is %q, expected it to contain %q", i, lines[i], expected)
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("a file got escape sequences: %q", out.String())
	}
}

func TestTerminalsAreRedrawnInPlace(t *testing.T) {
	var out strings.Builder
	s := newScreen(&out)
	s.terminal, s.width = true, func() int { return 30 }
	s.table([]row{{name: "a", phase: "Running", waitsFor: strings.Repeat("very long ", 20)}})
	out.Reset()
	s.table([]row{{name: "a", phase: "Running"}})
	if !strings.HasPrefix(out.String(), "\x1b[2A") {
		t.Errorf("the second table does not replace the two lines of the first: %q", out.String())
	}
	for line := range strings.Lines(out.String()) {
		plain := strings.NewReplacer("\x1b[2A\r", "", clearBelow, "", bold, "", green, "", reset, "").Replace(strings.TrimSpace(line))
		if len([]rune(plain)) > 30 {
			t.Errorf("line %q would wrap", plain)
		}
	}
}

func TestProgressIsALineOfNumbers(t *testing.T) {
	var out strings.Builder
	s := newScreen(&out)
	rows := []row{{phase: "Running"}, {phase: "Running"}, {phase: "Pending"}}
	s.counts(rows, 5)
	s.counts(rows, 5)
	if expected := "3 of 5 created  Pending 1  Provisioning 0  Provisioned 0  Running 2  Deleting 0\n"; out.String() != expected {
		t.Errorf("progress is %q, expected %q", out.String(), expected)
	}
}

func TestWaitsForIsTheFirstOpenStep(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "Reason", Message: message}
	}
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		deleting   bool
		expected   string
	}{
		"no conditions yet": {},
		"first open step": {
			conditions: []metav1.Condition{
				condition(clusterv1.MachineNodeReadyCondition, metav1.ConditionUnknown, "no Node"),
				condition(clusterv1.MachineInfrastructureReadyCondition, metav1.ConditionFalse, "* no\n  server"),
				condition(clusterv1.MachineBootstrapConfigReadyCondition, metav1.ConditionTrue, ""),
			},
			expected: "* no server",
		},
		"no message": {
			conditions: []metav1.Condition{condition(clusterv1.MachineReadyCondition, metav1.ConditionFalse, "")},
			expected:   "Ready: Reason",
		},
		"deleting": {
			deleting: true,
			conditions: []metav1.Condition{
				condition(clusterv1.MachineReadyCondition, metav1.ConditionFalse, "not this"),
				condition(clusterv1.MachineDeletingCondition, metav1.ConditionTrue, "draining"),
			},
			expected: "draining",
		},
		"deletion not seen yet": {
			deleting:   true,
			conditions: []metav1.Condition{condition(clusterv1.MachineDeletingCondition, metav1.ConditionFalse, "not this")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			machine := builder.Machine("default", "a").With(func(m *clusterv1.Machine) {
				m.Status.Conditions = test.conditions
				if test.deleting {
					m.DeletionTimestamp = new(metav1.Now())
				}
			}).Build()
			if got := waitsFor(machine); got != test.expected {
				t.Errorf("waits for %q, expected %q", got, test.expected)
			}
		})
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for expected, args := range map[string][]string{
		"--machines is 0":     {"--machines=0"},
		"--timeout is -1s":    {"--timeout=-1s"},
		"unexpected argument": {"10"},
		"not defined":         {"--typo"},
	} {
		if _, err := parse(args); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("error for %v is %v, expected one with %q", args, err, expected)
		}
	}
}
