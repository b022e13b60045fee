// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/machinist-dev/machinist/apis/cluster/v1beta1"
	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	clusterv1ac "github.com/machinist-dev/machinist/generated/applyconfiguration/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/simulator"
	webhookconversion "github.com/machinist-dev/machinist/webhooks/conversion"
)

var _ = It("A Machine of a kind that nobody knows takes v1beta1 away from nobody", func(ctx SpecContext) {
	p := newPlace(ctx)
	p.install(ctx, "SimMachine", contract.V1Beta2)
	p.install(ctx, "BareMachine")
	Expect(newUser.Create(ctx, p.newMachine("good", "SimMachine"))).To(Succeed())
	Expect(newUser.Create(ctx, p.newMachine("unlabelled", "BareMachine"))).To(Succeed())
	Expect(oldUser.Create(ctx, p.oldMachine("uninstalled", "OtherMachine"))).To(Succeed())
	ungrouped := p.oldMachine("ungrouped", "SimMachine")
	ungrouped.Spec.InfrastructureRef.APIVersion = ""
	Expect(oldUser.Create(ctx, ungrouped)).To(Succeed())

	By("listing")
	versions := map[string]string{
		"good": p.group + "/" + simulator.NewAPIVersion, "unlabelled": p.group + "/unknown", "uninstalled": p.group + "/unknown", "ungrouped": "",
	}
	Expect(p.listed(ctx)()).To(Equal(versions))

	By("watching")
	events, err := oldUser.Watch(ctx, &clusterv1beta1.MachineList{}, client.InNamespace(p.namespace))
	Expect(err).NotTo(HaveOccurred())
	defer events.Stop()
	seen := map[string]string{}
	for range versions {
		var event watch.Event
		Eventually(ctx, events.ResultChan()).Should(Receive(&event))
		machine, ok := event.Object.(*clusterv1beta1.Machine)
		Expect(ok).To(BeTrue(), "%v", event)
		seen[machine.Name] = machine.Spec.InfrastructureRef.APIVersion
	}
	Expect(seen).To(Equal(versions))
	for name := range versions {
		machine := p.readOld(ctx, name)
		machine.Labels = map[string]string{"changed": "true"}
		Expect(oldUser.Update(ctx, machine)).To(Succeed())
	}
	for range versions {
		Eventually(ctx, events.ResultChan()).Should(Receive(HaveField("Type", watch.Modified)))
	}

	By("writing what has the unknown version back")
	old := p.readOld(ctx, "uninstalled")
	old.Labels["again"] = "true"
	Expect(oldUser.Update(ctx, old)).To(Succeed())
	Expect(p.readNew(ctx, "uninstalled").Spec.InfrastructureRef.APIGroup).To(Equal(p.group))
})

var _ = It("A definition that goes and comes changes the version that v1beta1 shows, and stops no client of v1beta2", func(ctx SpecContext) {
	p := newPlace(ctx)
	p.install(ctx, "SimMachine", contract.V1Beta1, contract.V1Beta2)
	Expect(oldUser.Create(ctx, p.oldMachine("m", "SimMachine"))).To(Succeed()) // so that a field belongs to a manager of v1beta1

	By("uninstalling the kind")
	p.uninstall(ctx, "SimMachine")
	Eventually(p.version(ctx, "m")).WithContext(ctx).Should(Equal(p.group + "/unknown"))
	Expect(newUser.Status().Apply(ctx, clusterv1ac.Machine("m", p.namespace).
		WithStatus(clusterv1ac.MachineStatus().WithPhase(string(clusterv1.MachinePhaseRunning))), client.FieldOwner("new"))).To(Succeed())
	Eventually(p.listed(ctx)).WithContext(ctx).Should(HaveKeyWithValue("m", p.group+"/unknown"))

	By("installing it for another contract")
	p.install(ctx, "SimMachine", contract.V1Beta1)
	Eventually(p.version(ctx, "m")).WithContext(ctx).Should(Equal(p.group + "/" + simulator.OldAPIVersion))
	machine := p.readNew(ctx, "m")
	machine.Labels = map[string]string{"written": "since"}
	Expect(newUser.Update(ctx, machine)).To(Succeed())
	Eventually(p.listed(ctx)).WithContext(ctx).Should(HaveKeyWithValue("m", p.group+"/"+simulator.OldAPIVersion))
})

var _ = It("Without the webhook v1beta1 waits, and v1beta2 goes on", func(ctx SpecContext) {
	p := newPlace(ctx)
	Expect(newUser.Create(ctx, p.newMachine("m", "SimMachine"))).To(Succeed())
	Expect(oldUser.Create(ctx, p.oldMachine("old", "SimMachine"))).To(Succeed())
	endManager()
	DeferCleanup(func(ctx SpecContext) {
		startManager()
		awaitConversion(ctx)
		Eventually(p.version(ctx, "m")).WithContext(ctx).Should(Equal(p.group + "/unknown"))
	})
	Expect(oldUser.Get(ctx, p.key("m"), &clusterv1beta1.Machine{})).To(MatchError(ContainSubstring("conversion webhook for cluster.x-k8s.io/v1beta2, Kind=Machine failed")))
	machine := p.readNew(ctx, "m")
	machine.Spec.Version = "v1.37.2"
	Expect(newUser.Update(ctx, machine)).To(Succeed())
	Expect(newUser.List(ctx, &clusterv1.MachineList{}, client.InNamespace(p.namespace))).To(Succeed())
	machine = p.readNew(ctx, "old")
	machine.Spec.Version = "v1.37.2"
	Expect(newUser.Update(ctx, machine)).To(Succeed())

	By("applying to a Machine that has a manager of v1beta1, whose fields nobody can tell now")
	Expect(newUser.Apply(ctx, clusterv1ac.Machine("old", p.namespace).WithLabels(map[string]string{"by": "new"}), client.FieldOwner("new"))).
		To(MatchError(ContainSubstring("conversion webhook")))
})

var _ = It("Hundreds of Machines are listed, and converted in one review", func(ctx SpecContext) {
	const many = 300
	p := newPlace(ctx)
	p.install(ctx, "SimMachine", contract.V1Beta2)
	wanted := map[string]string{}
	for i := range many {
		name := fmt.Sprintf("m-%d", i)
		Expect(newUser.Create(ctx, p.newMachine(name, "SimMachine"))).To(Succeed())
		wanted[name] = p.group + "/" + simulator.NewAPIVersion
	}
	Expect(p.listed(ctx)()).To(HaveLen(many))

	stored := &clusterv1.MachineList{}
	Expect(newUser.List(ctx, stored, client.InNamespace(p.namespace))).To(Succeed())
	review := apiextensionsv1.ConversionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "ConversionReview"},
		Request:  &apiextensionsv1.ConversionRequest{UID: "all", DesiredAPIVersion: clusterv1beta1.GroupVersion.String()},
	}
	for i := range stored.Items {
		stored.Items[i].SetGroupVersionKind(clusterv1.GroupVersion.WithKind("Machine"))
		review.Request.Objects = append(review.Request.Objects, runtime.RawExtension{Object: &stored.Items[i]})
	}
	body, err := json.Marshal(review)
	Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM(serving.LocalServingCAData)).To(BeTrue())
	apiServer := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address()+webhookconversion.Path, bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	response, err := apiServer.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(response.Body.Close()).To(Succeed()) }()
	answer := apiextensionsv1.ConversionReview{}
	Expect(json.NewDecoder(response.Body).Decode(&answer)).To(Succeed())
	Expect(answer.Response.Result.Status).To(Equal(metav1.StatusSuccess))
	got := map[string]string{}
	for _, object := range answer.Response.ConvertedObjects {
		machine := clusterv1beta1.Machine{}
		Expect(json.Unmarshal(object.Raw, &machine)).To(Succeed())
		got[machine.Name] = machine.Spec.InfrastructureRef.APIVersion
	}
	Expect(got).To(Equal(wanted))
})
