// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package environment_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
)

// victimVariable makes the test binary a process that starts an environment, prints its folder and waits to be killed.
const victimVariable = "ENVIRONMENT_TEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victimVariable) != "" {
		env, err := environment.Start(context.Background(), environment.Options{WithControllerManager: true})
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stdout, filepath.Dir(env.KubeconfigPath))
		_, _ = os.Stdin.Read(make([]byte, 1)) // until this process is killed, or the suite has ended
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestEnvironment(t *testing.T) {
	// Other suites run at the same time; the specs that look for leftovers must not find theirs.
	t.Setenv("TMPDIR", t.TempDir())
	RegisterFailHandler(Fail)
	suite.SetDefaults()
	RunSpecs(t, "Environment")
}
