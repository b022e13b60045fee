// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"embed"
	"fmt"
	"path/filepath"
	"text/template"
)

const containerdSocket = "/run/containerd/containerd.sock"

// configuration is what the programs read, with the values of settings filled in.
//
//go:embed config
var configuration embed.FS

// settings are the values that the files in config name.
type settings struct {
	State, Socket, PauseImage, Runc, Plugins, Cgroup, NodeIP, NodeName, PodCIDR string
}

// writeConfiguration fills in the files of the folder config.
func writeConfiguration(f folder, found tools) error {
	values := settings{
		State: f.state(), Socket: containerdSocket, PauseImage: pauseImage, Runc: found.programs["runc"],
		Plugins: found.networking, Cgroup: "/" + cgroupName, NodeIP: nodeIP, NodeName: nodeName, PodCIDR: podCIDR,
	}
	all, err := template.New("").Option("missingkey=error").ParseFS(configuration, "config/*.*", "config/cni/*")
	if err != nil {
		return fmt.Errorf("reading the cluster's configuration: %w", err)
	}
	targets := map[string][]string{
		"containerd.toml":   {"config"},
		"kubelet.yaml":      {"config"},
		"kube-proxy.yaml":   {"config"},
		"audit-policy.yaml": {"config"},
		"pods.conflist":     {"config", "cni"}, // alone there: containerd takes the first file of the folder
	}
	for name, folders := range targets {
		var content bytes.Buffer
		if err := all.ExecuteTemplate(&content, name, values); err != nil {
			return fmt.Errorf("filling in the cluster's configuration: %w", err)
		}
		if err := f.write(content.Bytes(), append(folders, name)...); err != nil {
			return err
		}
	}
	// Names that are asked for in pods fail at once: there is no DNS, and the machine's may not be reachable.
	return f.write([]byte("nameserver 127.0.0.1\n"), "config", "resolv.conf")
}

// programs lists what runs, in the order of its start.
func programs(f folder, assets string, found tools) []program {
	asset := func(name string) string { return filepath.Join(assets, name) }
	config := func(name string) string { return f.state("config", name) }
	pki := func(name string) string { return f.state("pki", name) }
	return []program{
		{Name: "containerd", Path: found.programs["containerd"], Args: []string{"--config=" + config("containerd.toml")}},
		{Name: "etcd", Path: asset("etcd"), Args: []string{
			"--data-dir=" + f.state("etcd"),
			"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
			"--listen-peer-urls=http://127.0.0.1:2380",
			"--unsafe-no-fsync", // nothing has to survive
			"--log-level=warn",
		}},
		{Name: apiServerName, Path: asset(apiServerName), Args: []string{
			"--etcd-servers=http://127.0.0.1:2379",
			"--secure-port=6443", "--advertise-address=" + nodeIP,
			"--service-cluster-ip-range=" + serviceCIDR,
			"--tls-cert-file=" + pki(apiServerName+".crt"), "--tls-private-key-file=" + pki(apiServerName+".key"),
			"--client-ca-file=" + pki(caFile),
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
			"--allow-privileged",
			"--kubelet-preferred-address-types=InternalIP",
			"--kubelet-client-certificate=" + pki(kubeletClientName+".crt"), "--kubelet-client-key=" + pki(kubeletClientName+".key"),
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + pki(serviceAccountFile), "--service-account-signing-key-file=" + pki(serviceAccountFile),
			"--audit-policy-file=" + config("audit-policy.yaml"), "--audit-log-path=/var/log/audit.log",
			"--audit-log-maxsize=1000000", // megabytes; a file that is rotated would be lost to its reader
		}},
		{Name: "kube-controller-manager", Path: asset("kube-controller-manager"), NeedsAPI: true, Args: []string{
			"--kubeconfig=" + config("kube-controller-manager.yaml"),
			"--leader-elect=false",
			"--root-ca-file=" + pki(caFile),
			"--service-account-private-key-file=" + pki(serviceAccountFile), "--use-service-account-credentials",
		}},
		{Name: "kube-scheduler", Path: asset("kube-scheduler"), NeedsAPI: true, Args: []string{
			"--kubeconfig=" + config("kube-scheduler.yaml"), "--leader-elect=false",
		}},
		{Name: "kubelet", Path: asset("kubelet"), NeedsAPI: true, Args: []string{
			"--config=" + config("kubelet.yaml"), "--kubeconfig=" + config("kubelet-user.yaml"),
			"--hostname-override=" + nodeName, "--node-ip=" + nodeIP,
		}},
		{Name: "kube-proxy", Path: asset("kube-proxy"), NeedsAPI: true, Args: []string{"--config=" + config("kube-proxy.yaml")}},
	}
}
