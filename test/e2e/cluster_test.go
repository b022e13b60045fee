// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/controllers"
)

const (
	// root is the folder of the Makefile.
	root = "../.."

	// enableVariable asks for this suite.
	enableVariable = "MACHINIST_E2E"
	// hostVariable is the address at which the pods of the cluster reach this process.
	hostVariable = "MACHINIST_E2E_HOST"
	// imagesVariable names three images that the cluster can pull, separated by commas: one of the manager to install, one to
	// upgrade to, and one of Cluster API's core manager, of the release in peerModule.
	imagesVariable = "MACHINIST_E2E_IMAGES"

	// ownHost is this machine in the network of the cluster that hack/cluster starts.
	ownHost = "172.30.255.1"
)

// noAssets keeps programs that look for kubectl from looking where other suites have their control plane.
var noAssets = []string{"KUBEBUILDER_ASSETS="}

// cluster is what the suite runs on.
type cluster struct {
	kubeconfig string
	config     *rest.Config
	// host is the address of this process for pods.
	host string
	// first is the image that is installed, second the one that it is upgraded to.
	first, second string
	// clusterAPI is the image of Cluster API's core manager.
	clusterAPI  string
	kubectlPath string
	// audit is the path of the audit log; empty for a cluster that isn't ours.
	audit string

	warnings warnings
}

// newCluster takes the cluster of KUBECONFIG, or starts one that ends with the suite, and sees to the images.
func newCluster(ctx context.Context) *cluster {
	GinkgoHelper()
	c := &cluster{kubeconfig: os.Getenv(clientcmd.RecommendedConfigPathEnvVar), host: os.Getenv(hostVariable)}
	if c.kubeconfig == "" {
		c.start(ctx)
	} else {
		Expect(c.host).NotTo(BeEmpty(), "with KUBECONFIG, %s has to be the address at which pods reach this machine", hostVariable)
		images := strings.Split(os.Getenv(imagesVariable), ",")
		Expect(images).To(HaveLen(3), "with KUBECONFIG, %s has to name three images that the cluster can pull, separated by commas: "+
			"two of the manager, and one of Cluster API's core manager", imagesVariable)
		c.first, c.second, c.clusterAPI = images[0], images[1], images[2]
	}
	// Built now, so that what uses them later takes no longer than it should.
	var err error
	if c.kubectlPath, err = exec.LookPath("kubectl"); err != nil {
		folder := run(ctx, noAssets, "go", "-C", "hack/controlplane", "run", "./ensure", "-components=kubectl")
		c.kubectlPath = filepath.Join(folder, "kubectl")
	}
	run(ctx, nil, "make", "render", "IMG="+c.first)
	c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	c.config.QPS = -1
	c.config.WarningHandler = &c.warnings
	return c
}

// start starts a cluster on this machine and gives it the images.
func (c *cluster) start(ctx context.Context) {
	GinkgoHelper()
	c.kubeconfig = run(ctx, nil, "go", "run", "./hack/cluster", "up")
	DeferCleanup(func(ctx SpecContext) { run(ctx, nil, "go", "run", "./hack/cluster", "down") }, NodeTimeout(deployTimeout))
	c.host, c.audit = ownHost, filepath.Join(filepath.Dir(c.kubeconfig), "log", "audit.log")
	c.first, c.second = "machinist/manager:e2e-1", "machinist/manager:e2e-2"
	for _, image := range []string{c.first, c.second} {
		_, tag, _ := strings.Cut(image, ":")
		run(ctx, nil, "make", "image-tarball", "IMG="+image, "VERSION="+tag)
		run(ctx, nil, "go", "run", "./hack/cluster", "load-image", "bin/image-"+runtime.GOARCH+".tar")
	}
	c.loadClusterAPI(ctx)
}

// kubectl runs kubectl against the cluster, as in the documentation.
func (c *cluster) kubectl(ctx context.Context, arguments ...string) string {
	GinkgoHelper()
	return run(ctx, []string{"KUBECONFIG=" + c.kubeconfig}, c.kubectlPath, arguments...)
}

// client returns an administrator's client: it reads live, and as fast as it likes.
func (c *cluster) client() client.WithWatch {
	GinkgoHelper()
	scheme := controllers.NewScheme()
	Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	made, err := client.NewWithWatch(c.config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return made
}

// make runs a target of the Makefile against the cluster.
func (c *cluster) make(ctx context.Context, arguments ...string) {
	GinkgoHelper()
	run(ctx, append(noAssets, "KUBECONFIG="+c.kubeconfig), "make", arguments...)
}

// run runs a program in the root folder and returns what it printed, without the space around it. What it complains about is
// shown with the spec that fails.
func run(ctx context.Context, env []string, name string, arguments ...string) string {
	GinkgoHelper()
	By(strings.Join(append([]string{name}, arguments...), " "))
	var out bytes.Buffer
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = root
	command.Env = append(os.Environ(), env...)
	command.Stdout, command.Stderr = &out, GinkgoWriter
	// `go run` and make pass no signal on, so the whole group gets it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = 10 * time.Second
	Expect(command.Run()).To(Succeed(), "its output:\n%s", out.String())
	return strings.TrimSpace(out.String())
}

// warnings collects what the API server warns about.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since it was last called.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := slices.Clone(w.texts)
	w.texts = nil
	return taken
}
