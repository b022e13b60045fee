// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]version{
		"v1.37.2":        {full: "v1.37.2", major: "1", minor: "37"},
		"v1.38.0-beta.1": {full: "v1.38.0-beta.1", major: "1", minor: "38"},
		"v2.0.0":         {full: "v2.0.0", major: "2", minor: "0"},
	} {
		if got, err := parseVersion(text); err != nil || got != want {
			t.Errorf("parseVersion(%q) is %v, %v; expected %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1.37.2", "v1.37", "v1.037.2", "v1.37.2+build", "v1.37.2 ", "v1.37.x", "latest"} {
		if got, err := parseVersion(text); err == nil || !strings.Contains(err.Error(), `"`+text+`"`) {
			t.Errorf("parseVersion(%q) is %v, %v; expected an error that shows the text", text, got, err)
		}
	}
}

func TestHashFollowsTheModule(t *testing.T) {
	const goMod = "module " + modulePath + "\n\ngo 1.26.0\n"
	hash := func(mod, sum string) string {
		t.Helper()
		dir := t.TempDir()
		for name, content := range map[string]string{"go.mod": mod, "go.sum": sum} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := openModule(dir)
		if err != nil {
			t.Fatal(err)
		}
		return m.hash
	}
	first := hash(goMod, "a")
	if again := hash(goMod, "a"); again != first {
		t.Errorf("the same module in another folder has hash %s, expected %s", again, first)
	}
	if other := hash(goMod+"\nrequire k8s.io/kubernetes v1.37.3\n", "a"); other == first {
		t.Error("another go.mod has the same hash")
	}
	if other := hash(goMod, "b"); other == first {
		t.Error("another go.sum has the same hash")
	}
}

func TestOpenModuleSaysWhereToRun(t *testing.T) {
	stranger := t.TempDir()
	if err := os.WriteFile(filepath.Join(stranger, "go.mod"), []byte("module example.com/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{stranger, t.TempDir()} {
		if _, err := openModule(dir); err == nil || !strings.Contains(err.Error(), "go -C hack/controlplane run ./ensure") {
			t.Errorf("got error %v, expected one that says how to run the command", err)
		}
	}
}

func TestBuildOutputTellsProgressFromComplaints(t *testing.T) {
	output := &buildOutput{}
	if got := output.progress(); got != "linking, or reading modules" {
		t.Errorf("before any output the progress is %q", got)
	}
	for _, chunk := range []string{"k8s.io/a\nk8s.io", "/b\n# k8s.io/c\n", "c.go:3:1: undefined: x\ngo: down", "loading k8s.io/d v1\nlast"} {
		if n, err := output.Write([]byte(chunk)); n != len(chunk) || err != nil {
			t.Errorf("Write(%q) is %d, %v", chunk, n, err)
		}
	}
	if got, want := output.progress(), "2 packages compiled, latest downloading k8s.io/d v1"; got != want {
		t.Errorf("progress is %q, expected %q", got, want)
	}
	if got, want := output.complaints(), "# k8s.io/c\nc.go:3:1: undefined: x\nlast"; got != want {
		t.Errorf("complaints are %q, expected %q", got, want)
	}
}
