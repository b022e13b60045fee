// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/machinist-dev/machinist/controllers/machine/rollout"
	"github.com/machinist-dev/machinist/controllers/status"
)

// rolledOut is a Machine of a MachineSet of version v1 and of a MachineDeployment of the given one.
func rolledOut(desired string) fact {
	return func(s *scope) {
		s.rollout = &rollout.State{Current: rollout.Template{Version: "v1"}, Desired: rollout.Template{Version: desired}, Created: now.Add(-time.Hour)}
	}
}

func rolloutAfter(t time.Time) fact { return func(s *scope) { s.rollout.After = t } }

func running(kubelet, version string) fact {
	return func(s *scope) {
		s.machine.Status.NodeInfo = &corev1.NodeSystemInfo{KubeletVersion: kubelet}
		s.machine.Spec.Version = version
	}
}

var _ = Describe("UpToDate", func() {
	updates := func(message string) fact { return stored(about("Updating", yes, "InPlaceUpdating", message)) }
	DescribeTable("says what the MachineDeployment thinks", func(s *scope, conditionStatus metav1.ConditionStatus, reason, message string) {
		Expect(upToDate(s)).To(HaveValue(Equal(about("UpToDate", conditionStatus, reason, message))))
		Expect(s.requeueAfter).To(BeZero())
	},
		Entry("equal templates", knowing(rolledOut("v1")), yes, "UpToDate", ""),
		Entry("equal templates, and the Node is as it should be", knowing(rolledOut("v1"), running("v1", "v1")), yes, "UpToDate", ""),
		Entry("equal templates, and the Node says no version", knowing(rolledOut("v1"), running("", "v1")), yes, "UpToDate", ""),
		Entry("different templates", knowing(rolledOut("v2")), no, "NotUpToDate", "* Version v1, v2 required"),
		Entry("different templates, of a Machine that has the version that is wanted", knowing(rolledOut("v2"), running("v2", "v2")), no, "NotUpToDate", "* Version v1, v2 required"),
		Entry("several differences", knowing(rolledOut("v2"), rolloutAfter(now.Add(-time.Minute))), no, "NotUpToDate", "* Version v1, v2 required\n* MachineDeployment spec.rolloutAfter expired"),
		Entry("different templates while updating", knowing(rolledOut("v2"), updates("step 3")), no, "NotUpToDate", "* Version v1, v2 required"),
		Entry("updating", knowing(rolledOut("v1"), updates("step 3"), running("v0", "v1")), no, "Updating", "* step 3"),
		Entry("the kubelet has another version", knowing(rolledOut("v1"), running("v0", "v1")), no, "Updating", "* Node.status.nodeInfo.kubeletVersion v0, v1 required"),
		Entry("the time to replace it has passed", knowing(rolledOut("v1"), rolloutAfter(now.Add(-time.Minute))), no, "NotUpToDate", "* MachineDeployment spec.rolloutAfter expired"),
		Entry("the MachineSet was made at that time", knowing(rolledOut("v1"), rolloutAfter(now.Add(-time.Hour))), yes, "UpToDate", ""),
	)

	It("is looked at again when the time to replace the Machine has passed", func() {
		s := knowing(rolledOut("v1"), rolloutAfter(now.Add(time.Minute)))
		Expect(upToDate(s)).To(HaveField("Status", yes))
		Expect(s.requeueAfter).To(BeNumerically("~", time.Minute, time.Second))
	})

	It("is others' where there is no MachineDeployment, or nothing is known of it", func() {
		theirs := about("UpToDate", no, "NotUpToDate", "* KubeadmConfig is not up-to-date")
		s := having(stored(theirs))
		computeStatus(s, grace)
		Expect(status.Get(s.machine, "UpToDate")).To(And(HaveField("Message", theirs.Message), HaveField("LastTransitionTime", ago(time.Hour))))
		s = having()
		computeStatus(s, grace)
		Expect(status.Get(s.machine, "UpToDate")).To(BeNil())
	})

	It("is computed from Updating as it is now", func() {
		s := having(rolledOut("v1"), annotated("in-place-updates.internal.cluster.x-k8s.io/update-in-progress", ""))
		computeStatus(s, grace)
		Expect(status.Get(s.machine, "UpToDate")).To(And(HaveField("Reason", "Updating"), HaveField("Message", "* In-place update in progress")))
	})
})
