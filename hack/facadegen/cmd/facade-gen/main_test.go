// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const golden = "../../testdata/golden/widget"

func TestGenerates(t *testing.T) {
	folder := t.TempDir()
	var out, errOut bytes.Buffer
	args := []string{"facade:package=widgets,table=doc/widgets.md", "paths=" + golden, "output:dir=" + folder}
	if err := run(args, &out, &errOut); err != nil {
		t.Fatalf("%v\n%s", err, &errOut)
	}
	for _, file := range []string{"widgets/zz_generated.widget.go", "widgetstest/zz_generated.widget.go", "doc/widgets.md"} {
		if _, err := os.Stat(filepath.Join(folder, file)); err != nil {
			t.Error(err)
		}
	}
}

func TestRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"nothing":                    {nil, "paths=<packages> and output:dir=<folder> are needed"},
		"no output":                  {[]string{"paths=" + golden}, "are needed"},
		"no paths":                   {[]string{"output:none"}, "are needed"},
		"an empty option":            {[]string{"", "paths=" + golden, "output:none"}, "are needed"},
		"an unknown option":          {[]string{"crd", "paths=" + golden, "output:none"}, `unknown option "crd"`},
		"an unknown argument":        {[]string{"facade:year=2026", "paths=" + golden, "output:none"}, `unknown argument "year"`},
		"an unknown flag":            {[]string{"--version"}, "unknown flag: --version"},
		"a package without contract": {[]string{"paths=.", "output:none"}, "nothing was generated"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			if err := run(tc.args, &out, &errOut); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error: %v\n%s", err, &errOut)
			}
		})
	}
}

func TestAContractWithMistakes(t *testing.T) {
	folder := t.TempDir()
	var out, errOut bytes.Buffer
	err := run([]string{"paths=../../testdata/errors/relations", "output:dir=" + folder}, &out, &errOut)
	if err == nil || err.Error() != "nothing was generated, because of the errors above" {
		t.Errorf("error: %v", err)
	}
	if entries, err := os.ReadDir(folder); len(entries) > 0 || err != nil {
		t.Errorf("%d files, %v", len(entries), err)
	}
}

func TestHelp(t *testing.T) {
	var out, errOut bytes.Buffer
	if err := run([]string{"--help"}, &out, &errOut); err != nil || !strings.Contains(errOut.String(), "Usage:") {
		t.Errorf("%v\n%s", err, &errOut)
	}
	levels := map[string]string{"-w": "+contract:path", "-ww": "statusSubresource demands", "-www": "gets a dash"}
	length := 0
	for _, flag := range []string{"-w", "-ww", "-www"} {
		out.Reset()
		if err := run([]string{flag}, &out, &errOut); err != nil || !strings.Contains(out.String(), levels[flag]) {
			t.Errorf("%s: %v\n%s", flag, err, &out)
		}
		if out.Len() <= length {
			t.Errorf("%s prints no more than the level before", flag)
		}
		length = out.Len()
	}
}
