// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package environment_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
)

var widgets = schema.GroupVersionResource{Group: "test.machinist.dev", Version: "v1", Resource: "widgets"}

var _ = Describe("An environment with a controller manager", Ordered, func() {
	var (
		env       *environment.Environment
		clientset kubernetes.Interface
		custom    dynamic.Interface
	)

	BeforeAll(func(ctx SpecContext) {
		started := time.Now()
		env = suite.Start(ctx, environment.Options{
			CRDPaths:              []string{filepath.Join("testdata", "widgets.yaml")},
			WithControllerManager: true,
			CountRequests:         true,
		})
		AddReportEntry("start-up", time.Since(started).Round(time.Millisecond).String())
		clientset = kubernetes.NewForConfigOrDie(env.ConfigFor("environment-test/v1"))
		custom = dynamic.NewForConfigOrDie(env.Config)
	})

	It("reports the version it was built from", func() {
		version, err := clientset.Discovery().ServerVersion()
		Expect(err).NotTo(HaveOccurred())
		Expect(version).To(HaveField("GitVersion", HavePrefix("v1.")), "clients refuse a server that calls itself v0.0.0")
		Expect(version).To(HaveField("Major", "1"))
	})

	It("listens on the loopback interface only", func() {
		host, _, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(env.Config.Host, "https://"), "/"))
		Expect(err).NotTo(HaveOccurred())
		Expect(net.ParseIP(host).IsLoopback()).To(BeTrue(), host)
	})

	It("writes a kubeconfig that works by itself", func(ctx SpecContext) {
		Expect(env.KubeconfigPath).To(BeARegularFile())
		config, err := clientcmd.BuildConfigFromFlags("", env.KubeconfigPath)
		Expect(err).NotTo(HaveOccurred())
		_, err = kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
	})

	It("collects what an object owned once the object is gone", func(ctx SpecContext) {
		namespace := suite.Namespace(ctx, env)
		owner := create(ctx, custom, namespace, widget("owner"))
		owned := widget("owned")
		owned.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(),
		}})
		create(ctx, custom, namespace, owned)

		Expect(custom.Resource(widgets).Namespace(namespace).Delete(ctx, "owner", metav1.DeleteOptions{})).To(Succeed())

		Eventually(func(ctx context.Context) bool {
			_, err := custom.Resource(widgets).Namespace(namespace).Get(ctx, "owned", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		}).WithContext(ctx).WithTimeout(suite.CollectionTimeout).Should(BeTrue(), "the owned widget is still there")
	})

	It("empties and removes a deleted namespace", func(ctx SpecContext) {
		namespace := suite.Namespace(ctx, env)
		create(ctx, custom, namespace, widget("inside"))

		Expect(clientset.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})).To(Succeed())

		Eventually(func(ctx context.Context) bool {
			_, err := clientset.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		}).WithContext(ctx).WithTimeout(suite.CollectionTimeout).Should(BeTrue(), "the namespace is still there")
		Expect(custom.Resource(widgets).Namespace(namespace).List(ctx, metav1.ListOptions{})).To(HaveField("Items", BeEmpty()))
	})

	It("counts requests at the API server, by verb, resource and client", func(ctx SpecContext) {
		before, err := env.Requests(ctx)
		Expect(err).NotTo(HaveOccurred())
		configMaps := clientset.CoreV1().ConfigMaps("default")
		_, err = configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counted"}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = configMaps.Get(ctx, "counted", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = configMaps.Get(ctx, "absent", metav1.GetOptions{})
		Expect(err).To(Satisfy(apierrors.IsNotFound))
		watch, err := configMaps.Watch(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		defer watch.Stop()

		after, err := env.Requests(ctx)
		Expect(err).NotTo(HaveOccurred())
		ours := after[len(before):].From("environment-test/")
		Expect(ours.Counts()).To(Equal(map[string]int{"create configmaps": 1, "get configmaps": 2, "watch configmaps": 1}))
		Expect(ours[2]).To(And(
			HaveField("Name", "absent"), HaveField("Namespace", "default"), HaveField("Code", 404), HaveField("User", "admin"),
		))
	})
})

var _ = Describe("An environment", func() {
	It("leaves nothing behind after Stop, which may be called again", func(ctx SpecContext) {
		env := suite.Start(ctx, environment.Options{})
		dir := filepath.Dir(env.KubeconfigPath)
		pids := processes(dir)
		Expect(pids).To(HaveLen(2))

		Expect(env.Stop()).To(Succeed())
		Expect(env.Stop()).To(Succeed())

		Expect(dir).NotTo(BeAnExistingFile())
		for _, pid := range pids {
			Expect(alive(pid)).To(BeFalse(), "process %d", pid)
		}
	})

	It("does not overwrite somebody's kubeconfig", func(ctx SpecContext) {
		path := filepath.Join(GinkgoT().TempDir(), "config")
		Expect(os.WriteFile(path, []byte("precious"), 0o600)).To(Succeed())

		_, err := environment.Start(ctx, environment.Options{KubeconfigPath: path})

		Expect(err).To(MatchError(ContainSubstring("would overwrite " + path)))
		Expect(os.ReadFile(path)).To(BeEquivalentTo("precious"))
	})

	It("says which path with CRDs is missing, and stops what it had started", func(ctx SpecContext) {
		folders := environmentFolders()

		_, err := environment.Start(ctx, environment.Options{CRDPaths: []string{"testdata/absent.yaml"}})

		Expect(err).To(MatchError(ContainSubstring("testdata/absent.yaml")))
		Expect(environmentFolders()).To(BeComparableTo(folders))
	})

	It("stops what it had started when its context ends meanwhile", func(ctx SpecContext) {
		folders := environmentFolders()
		// No control plane starts as fast as that, and the start of the first process takes longer than to get here.
		short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()

		_, err := environment.Start(short, environment.Options{})

		Expect(err).To(MatchError(context.DeadlineExceeded))
		Expect(environmentFolders()).To(BeComparableTo(folders))
	})

	It("is cleaned up after a process that is killed", func(ctx SpecContext) {
		victim, dir := startVictim(ctx)
		pids := processes(dir)
		Expect(pids).To(HaveLen(3))

		Expect(victim.Process.Kill()).To(Succeed())
		_ = victim.Wait() // it says that it was killed

		Eventually(dir).ShouldNot(BeAnExistingFile())
		for _, pid := range pids {
			Eventually(alive).WithArguments(pid).Should(BeFalse(), "process %d", pid)
		}
	})

	It("says which component is missing from KUBEBUILDER_ASSETS", func(ctx SpecContext) {
		GinkgoT().Setenv("KUBEBUILDER_ASSETS", GinkgoT().TempDir())

		_, err := environment.Start(ctx, environment.Options{})

		Expect(err).To(MatchError(And(ContainSubstring("KUBEBUILDER_ASSETS"), ContainSubstring("etcd is missing"))))
	})

	It("refuses to count requests unasked", func(ctx SpecContext) {
		_, err := (&environment.Environment{}).Requests(ctx)
		Expect(err).To(MatchError(ContainSubstring("Options.CountRequests")))
	})
})

var _ = It("A free address is kept from everybody who doesn't ask for it by its number", func(ctx SpecContext) {
	address := suite.FreeAddress(ctx)
	// As the system does when it chooses a port: not even one on which nobody listens any more.
	choosy := net.ListenConfig{Control: func(_, _ string, socket syscall.RawConn) error {
		var set error
		err := socket.Control(func(fd uintptr) { set = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0) })
		return errors.Join(err, set)
	}}
	_, err := choosy.Listen(ctx, "tcp", address.String())
	Expect(err).To(MatchError(syscall.EADDRINUSE))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address.String())
	Expect(err).NotTo(HaveOccurred())
	Expect(listener.Close()).To(Succeed())
})

func widget(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(widgets.GroupVersion().WithKind("Widget"))
	object.SetName(name)
	return object
}

func create(
	ctx context.Context, client dynamic.Interface, namespace string, object *unstructured.Unstructured,
) *unstructured.Unstructured {
	GinkgoHelper()
	created, err := client.Resource(widgets).Namespace(namespace).Create(ctx, object, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return created
}

// environmentFolders returns the folders of all environments of this suite. It has a temporary folder of its own.
func environmentFolders() []string {
	GinkgoHelper()
	folders, err := filepath.Glob(filepath.Join(os.TempDir(), "machinist-environment-*"))
	Expect(err).NotTo(HaveOccurred())
	return folders
}

// startVictim starts a process that starts an environment and waits to be killed, and returns the environment's folder.
func startVictim(ctx context.Context) (*exec.Cmd, string) {
	GinkgoHelper()
	victim := exec.CommandContext(ctx, os.Args[0])
	victim.Env = append(os.Environ(), victimVariable+"=1")
	victim.Stderr = GinkgoWriter
	_, err := victim.StdinPipe()
	Expect(err).NotTo(HaveOccurred())
	output, err := victim.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(victim.Start()).To(Succeed())
	line, err := bufio.NewReader(output).ReadString('\n')
	Expect(err).NotTo(HaveOccurred())
	return victim, strings.TrimSpace(line)
}

// processes returns the process ids of the components of the environment in dir.
func processes(dir string) []int {
	GinkgoHelper()
	files, err := filepath.Glob(filepath.Join(dir, "pids", "*"))
	Expect(err).NotTo(HaveOccurred())
	var pids []int
	for _, file := range files {
		content, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
		Expect(err).NotTo(HaveOccurred())
		Expect(alive(pid)).To(BeTrue(), "process %d of %s", pid, file)
		pids = append(pids, pid)
	}
	return pids
}

func alive(pid int) bool {
	return syscall.Kill(pid, 0) == nil
}
