// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// enableVariable turns tests on that change this machine for a while, and take a minute.
	enableVariable = "MACHINIST_E2E"
	probe          = "probe"
	probeImage     = "local.test/probe:1"
	// podTimeout is how long it may take until something happens that waits for kubelet or a controller.
	podTimeout = time.Minute
)

// TestUpAndDown starts a cluster, proves in it what hack/cluster promises, and that it is gone without a trace afterwards.
func TestUpAndDown(t *testing.T) {
	if os.Getenv(enableVariable) == "" {
		t.Skip("this starts a cluster on this machine: run make test-e2e, or set " + enableVariable + "=true")
	}
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(podTimeout)
	g.SetDefaultEventuallyPollingInterval(pollInterval)
	report := reporter{t.Output()}
	var out bytes.Buffer
	f, err := openFolder()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.unlocked()).To(BeTrue(), "a cluster is running already: stop it by `make cluster-down`")
	before := lookForTraces(t, f)

	g.Expect(run(t.Context(), []string{"up"}, &out, report)).To(Succeed())
	t.Cleanup(func() {
		if !f.unlocked() { // the test has failed half-way
			g.Expect(run(context.WithoutCancel(t.Context()), []string{"down"}, io.Discard, report)).To(Succeed())
		}
	})
	kubeconfig := strings.TrimSpace(out.String())
	g.Expect(kubeconfig).To(Equal(f.kubeconfig()))
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	client, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())

	w := world{WithT: g, client: client, folder: f, report: report}
	w.secondIsRefused(t.Context())
	g.Expect(run(t.Context(), []string{"check"}, io.Discard, report)).To(Succeed(), "beside it")
	w.runProbe(t.Context(), t.TempDir(), listen(t))
	w.expectWebhookToAnswer(t.Context())
	w.expectLogs(t.Context())
	w.expectRestart(t.Context())

	g.Expect(run(t.Context(), []string{"down"}, io.Discard, report)).To(Succeed())
	g.Expect(exists(f.state())).To(BeFalse())
	after := lookForTraces(t, f)
	for kind := range after {
		g.Expect(after[kind]).To(Equal(before[kind]), kind)
	}
	g.Expect(run(t.Context(), []string{"down"}, io.Discard, report)).To(Succeed(), "a second time")
}

// TestMain makes the test's own program the first process of the cluster: up starts whatever program it is in.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == initCommand {
		main()
		return
	}
	os.Exit(m.Run())
}

// world is a cluster that runs.
type world struct {
	*WithT

	client    kubernetes.Interface
	folder    folder
	report    reporter
	namespace string
}

func (w *world) secondIsRefused(ctx context.Context) {
	err := run(ctx, []string{"up"}, io.Discard, w.report)
	w.Expect(err).To(MatchError(ContainSubstring("a cluster is running already: use it by KUBECONFIG=" + w.folder.kubeconfig())))
}

// listen returns the address of a server on the machine, as pods reach it.
func listen(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", hostIP+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// runProbe runs a pod that has all the restrictions that a careful administrator asks for, and whose readiness shows that
// it reaches the API server through its Service, and the machine.
func (w *world) runProbe(ctx context.Context, dir, address string) {
	root, err := moduleRoot(ctx)
	w.Expect(err).NotTo(HaveOccurred())
	binary, image := filepath.Join(dir, probe), filepath.Join(dir, "probe.tar")
	w.Expect(buildStatic(ctx, root, "./hack/cluster/testdata/probe", binary)).To(Succeed())
	w.Expect(writeImage(image, probeImage, binary)).To(Succeed())
	w.Expect(run(ctx, []string{"load-image", image}, io.Discard, w.report)).To(Succeed())
	w.Expect(run(ctx, []string{"load-image", binary}, io.Discard, w.report)).To(MatchError(ContainSubstring("loading the images in " + binary)))

	namespace, err := w.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "probe-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.namespace = namespace.Name
	w.createCertificate(ctx)
	w.Eventually(func() error {
		_, err := w.client.AppsV1().Deployments(w.namespace).Create(ctx, deployment(apiServiceIP+":443,"+address), metav1.CreateOptions{})
		return err
	}).Should(Succeed())
	_, err = w.client.CoreV1().Services(w.namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: probe},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": probe},
			Ports:    []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromString("https")}},
		},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(func() (int32, error) {
		found, err := w.client.AppsV1().Deployments(w.namespace).Get(ctx, probe, metav1.GetOptions{})
		if err != nil {
			return 0, err
		}
		return found.Status.AvailableReplicas, nil
	}).Should(BeEquivalentTo(1))
}

// createCertificate makes the probe's certificate, and registers it as a webhook that wants to see ConfigMaps.
func (w *world) createCertificate(ctx context.Context) {
	ca, err := newAuthority()
	w.Expect(err).NotTo(HaveOccurred())
	host := fmt.Sprintf("%s.%s.svc", probe, w.namespace)
	serving, err := ca.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	w.Expect(err).NotTo(HaveOccurred())
	_, err = w.client.CoreV1().Secrets(w.namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: probe},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: serving.certificate, corev1.TLSPrivateKeyKey: serving.key},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	_, err = w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx,
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: probe},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name:                    "probe.example.com",
				AdmissionReviewVersions: []string{"v1"},
				SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
				ClientConfig: admissionregistrationv1.WebhookClientConfig{
					CABundle: ca.pem,
					Service:  &admissionregistrationv1.ServiceReference{Namespace: w.namespace, Name: probe, Path: new("/deny")},
				},
				ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": probe}},
				Rules: []admissionregistrationv1.RuleWithOperations{{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				}},
			}},
		}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}

func deployment(dial string) *appsv1.Deployment {
	labels := map[string]string{"app": probe}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: probe},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot:   new(true),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name:  probe,
						Image: probeImage,
						Env:   []corev1.EnvVar{{Name: "DIAL", Value: dial}},
						Ports: []corev1.ContainerPort{{Name: "https", ContainerPort: 8443}},
						ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
							Path: "/readyz", Port: intstr.FromString("https"), Scheme: corev1.URISchemeHTTPS,
						}}},
						SecurityContext: &corev1.SecurityContext{
							AllowPrivilegeEscalation: new(false),
							ReadOnlyRootFilesystem:   new(true),
							Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
						VolumeMounts: []corev1.VolumeMount{{Name: "tls", MountPath: "/tls", ReadOnly: true}},
					}},
					Volumes: []corev1.Volume{{
						Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: probe}},
					}},
				},
			},
		},
	}
}

func (w *world) expectWebhookToAnswer(ctx context.Context) {
	w.Eventually(func() error {
		_, err := w.client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "denied-", Labels: map[string]string{"app": probe}},
		}, metav1.CreateOptions{})
		return err
	}).Should(MatchError(ContainSubstring("denied by a pod")))
}

// expectLogs shows that the API server reaches kubelet, and is known to it.
func (w *world) expectLogs(ctx context.Context) {
	pods, err := w.client.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(pods.Items).To(HaveLen(1))
	logs, err := w.client.CoreV1().Pods(w.namespace).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(string(logs)).To(SatisfyAll(ContainSubstring("reached "+apiServiceIP), ContainSubstring("denied ")))
}

// expectRestart kills the scheduler, without which no pod gets anywhere, and waits for another pod.
func (w *world) expectRestart(ctx context.Context) {
	w.Expect(syscall.Kill(w.processOf("kube-scheduler"), syscall.SIGKILL)).To(Succeed())
	scale, err := w.client.AppsV1().Deployments(w.namespace).GetScale(ctx, probe, metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	scale.Spec.Replicas = 2
	_, err = w.client.AppsV1().Deployments(w.namespace).UpdateScale(ctx, probe, scale, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(func() (int32, error) {
		found, err := w.client.AppsV1().Deployments(w.namespace).Get(ctx, probe, metav1.GetOptions{})
		if err != nil {
			return 0, err
		}
		return found.Status.AvailableReplicas, nil
	}).Should(BeEquivalentTo(2))
	w.Expect(os.ReadFile(w.folder.logs("init.log"))).To(ContainSubstring("kube-scheduler has ended (exit status -1, signal 9)"))
}

// processOf returns the process that runs one of the cluster's programs.
func (w *world) processOf(name string) int {
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	w.Expect(err).NotTo(HaveOccurred())
	for _, path := range paths {
		content, _ := os.ReadFile(path) // it may have ended
		program, arguments, _ := bytes.Cut(content, []byte{0})
		if filepath.Base(string(program)) == name && bytes.Contains(arguments, []byte(w.folder.state())) {
			var pid int
			_, err := fmt.Sscanf(path, "/proc/%d/cmdline", &pid)
			w.Expect(err).NotTo(HaveOccurred())
			return pid
		}
	}
	w.Expect(paths).To(BeEmpty(), "no process runs "+name)
	return 0
}
