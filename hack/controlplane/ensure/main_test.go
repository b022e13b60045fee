// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// stage prepares a test of the whole command: a stub in place of the go command, an empty cache, and no other binaries.
type stage struct {
	t     *testing.T
	stub  string // where the stub of the go command keeps its state
	cache string
}

func newStage(t *testing.T) stage {
	t.Helper()
	bin, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	s := stage{t: t, stub: t.TempDir(), cache: t.TempDir()}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("STUB_DIR", s.stub)
	t.Setenv(cacheVariable, s.cache)
	t.Setenv(assetsVariable, "")
	t.Chdir("..")
	return s
}

// run runs the command, and returns the folder that it prints and what it reports.
func (s stage) run(ctx context.Context, args ...string) (dir, report string, err error) {
	var stdout, stderr bytes.Buffer
	err = run(ctx, args, &stdout, &stderr)
	return strings.TrimSpace(stdout.String()), stderr.String(), err
}

// succeed is run where an error is a failure.
func (s stage) succeed(args ...string) (dir, report string) {
	s.t.Helper()
	dir, report, err := s.run(s.t.Context(), args...)
	if err != nil {
		s.t.Fatalf("ensure %q: %v\n%s", args, err, report)
	}
	return dir, report
}

// builds returns the go build commands that were run.
func (s stage) builds() []string {
	content, err := os.ReadFile(filepath.Join(s.stub, "builds"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return strings.FieldsFunc(string(content), func(r rune) bool { return r == '\n' })
}

func (s stage) write(dir, name, content string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// expect fails unless dir holds exactly these files, but for the lock, with this content.
func (s stage) expect(dir string, files map[string]string) {
	s.t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, entry := range entries {
		if _, ok := files[entry.Name()]; !ok && entry.Name() != "lock" {
			s.t.Errorf("%s holds %s, which should not be there", dir, entry.Name())
		}
	}
	for name, content := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.TrimSpace(string(got)) != content {
			s.t.Errorf("%s holds %q (%v), expected %q", filepath.Join(dir, name), got, err, content)
		}
	}
}

func TestAssetsOfTheUserComeFirst(t *testing.T) {
	s := newStage(t)
	assets := t.TempDir()
	t.Setenv(assetsVariable, assets)
	s.write(assets, "etcd", "theirs")
	s.write(assets, "kube-apiserver", "theirs")

	if dir, _ := s.succeed("-components=etcd,kube-apiserver"); dir != assets {
		t.Errorf("got %s, expected the folder of the user, %s", dir, assets)
	}
	_, _, err := s.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "lacks kube-controller-manager") {
		t.Errorf("got error %v, expected one that names the missing component", err)
	}
	if builds := s.builds(); len(builds) > 0 {
		t.Errorf("built %q, although the user has named a folder", builds)
	}
}

func TestBuildsWhatIsMissingOnce(t *testing.T) {
	s := newStage(t)
	dir, report := s.succeed("-components=etcd")
	if !strings.Contains(report, "building etcd") || !strings.Contains(report, "can't fetch anything here (no such tool)") {
		t.Errorf("the report says neither that etcd is built nor why:\n%s", report)
	}
	s.expect(dir, map[string]string{"etcd": "built"})

	s.succeed()
	s.expect(dir, map[string]string{"etcd": "built", "kube-apiserver": "built", "kube-controller-manager": "built"})
	if again, report := s.succeed(); again != dir || report != "" {
		t.Errorf("a third run returned %s and reported %q, expected %s and silence", again, report, dir)
	}
	if builds := s.builds(); len(builds) != len(defaultComponents()) {
		t.Errorf("got %d builds, expected one per component: %q", len(builds), builds)
	}
}

func TestBuildStampsTheVersion(t *testing.T) {
	s := newStage(t)
	s.succeed("-components=kube-apiserver")
	build := strings.Join(s.builds(), "\n")
	for _, stamp := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.37.2", "-X k8s.io/component-base/version.gitMajor=1",
		"-X k8s.io/client-go/pkg/version.gitMinor=37", "-X k8s.io/component-base/version.buildDate=2026-10-27T12:01:04Z",
	} {
		if !strings.Contains(build, stamp) {
			t.Errorf("the build lacks %q:\n%s", stamp, build)
		}
	}
}

func TestDownloadsWhatSetupEnvtestHas(t *testing.T) {
	s := newStage(t)
	downloads := t.TempDir()
	s.write(downloads, "etcd", "downloaded")
	s.write(downloads, "kube-apiserver", "downloaded")
	s.write(s.stub, "setup-envtest", "#!/bin/sh\necho \"$@\" >>"+s.stub+"/calls\necho "+downloads+"\n")

	dir, _ := s.succeed()

	s.expect(dir, map[string]string{"etcd": "downloaded", "kube-apiserver": "downloaded", "kube-controller-manager": "built"})
	calls, err := os.ReadFile(filepath.Join(s.stub, "calls"))
	if want := "list 1.37.x\nuse -p path 1.37.x\n"; err != nil || string(calls) != want {
		t.Errorf("called setup-envtest with %q (%v), expected %q", calls, err, want)
	}
}

func TestPrintPutsNothingThere(t *testing.T) {
	s := newStage(t)
	dir, _ := s.succeed("-print")
	if !strings.HasPrefix(dir, s.cache) || !strings.HasSuffix(dir, platform) {
		t.Errorf("got %s, expected a folder for %s in %s", dir, platform, s.cache)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s was made (%v)", dir, err)
	}
}

func TestProcessesTakeTurns(t *testing.T) {
	s := newStage(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, report, err := s.run(t.Context()); err != nil {
				t.Errorf("%v\n%s", err, report)
			}
		})
	}
	group.Wait()
	if builds := s.builds(); len(builds) != len(defaultComponents()) {
		t.Errorf("got %d builds, expected one per component: %q", len(builds), builds)
	}
}

func TestFailedBuildShowsTheComplaint(t *testing.T) {
	s := newStage(t)
	s.write(s.stub, "fail", "")
	_, _, err := s.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "# k8s.io/two\ntwo.go:1:1: no good") {
		t.Errorf("got error %v, expected the compiler's complaint", err)
	}
	dir, _ := s.succeed("-print")
	s.expect(dir, nil)
}

func TestInterruptedBuildLeavesNothing(t *testing.T) {
	s := newStage(t)
	s.write(s.stub, "hang", "")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		waitForFile(t, filepath.Join(s.stub, "hanging"))
	}()

	_, _, err := s.run(ctx, "-components=etcd")

	if err == nil || !strings.Contains(err.Error(), "building etcd was interrupted") {
		t.Errorf("got error %v, expected one that says so", err)
	}
	dir, _ := s.succeed("-print")
	s.expect(dir, nil)
}

func TestKilledBuildIsClearedAway(t *testing.T) {
	s := newStage(t)
	dir, _ := s.succeed("-print")
	if err := os.MkdirAll(filepath.Join(dir, partialPrefix+"1"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.write(filepath.Join(dir, partialPrefix+"1"), "etcd", "half")

	s.succeed("-components=etcd")

	s.expect(dir, map[string]string{"etcd": "built"})
}

func TestMistakesAreExplained(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown component":    {[]string{"-components=kubeadm"}, `unknown component "kubeadm": have etcd,`},
		"empty list":           {[]string{"-components="}, `unknown component ""`},
		"superfluous argument": {[]string{"etcd"}, `unexpected argument "etcd"`},
		"unknown flag":         {[]string{"-force"}, "flag provided but not defined: -force"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := newStage(t).run(t.Context(), test.args...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, expected %q in it", err, test.want)
			}
		})
	}
}

// waitForFile returns when path exists, and fails the test if that takes too long.
func waitForFile(t *testing.T, path string) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(20 * time.Second)
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Errorf("%s has not appeared", path)
			return
		}
	}
}
