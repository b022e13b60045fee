// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// A topology is carried through as JSON, unchecked, and only what has another name or form in v1beta2 is touched. Each row
// below is one such field; fields in no row, those of the future included, are the same in both versions.

// move is a field with its place in either version, from the object that the row is about.
type move struct {
	v1beta1, v1beta2 string
	// toHub and fromHub change the form; nil leaves it. What they do not understand they return as it is.
	toHub, fromHub func(any) any
}

var (
	topologyMoves = []move{
		{v1beta1: "class", v1beta2: "classRef.name"},
		{v1beta1: "classNamespace", v1beta2: "classRef.namespace"},
	}

	// nodeMoves are those of the control plane, of MachineDeployments and of MachinePools.
	nodeMoves = []move{
		durationMove("nodeDrainTimeout", "deletion.nodeDrainTimeoutSeconds"),
		durationMove("nodeVolumeDetachTimeout", "deletion.nodeVolumeDetachTimeoutSeconds"),
		durationMove("nodeDeletionTimeout", "deletion.nodeDeletionTimeoutSeconds"),
		durationMove("machineHealthCheck.nodeStartupTimeout", "healthCheck.checks.nodeStartupTimeoutSeconds"),
		{v1beta1: "machineHealthCheck.enable", v1beta2: "healthCheck.enabled"},
		checksMove("machineHealthCheck.unhealthyConditions", "healthCheck.checks.unhealthyNodeConditions"),
		checksMove("machineHealthCheck.unhealthyMachineConditions", "healthCheck.checks.unhealthyMachineConditions"),
		{v1beta1: "machineHealthCheck.maxUnhealthy", v1beta2: "healthCheck.remediation.triggerIf.unhealthyLessThanOrEqualTo"},
		{v1beta1: "machineHealthCheck.unhealthyRange", v1beta2: "healthCheck.remediation.triggerIf.unhealthyInRange"},
		{v1beta1: "machineHealthCheck.remediationTemplate", v1beta2: "healthCheck.remediation.templateRef", toHub: templateToHub},
		{v1beta1: "strategy.remediation.maxInFlight", v1beta2: "healthCheck.remediation.maxInFlight"},
		{v1beta1: "strategy.rollingUpdate.deletePolicy", v1beta2: "deletion.order"},
		{v1beta1: "strategy.rollingUpdate.maxUnavailable", v1beta2: "rollout.strategy.rollingUpdate.maxUnavailable"},
		{v1beta1: "strategy.rollingUpdate.maxSurge", v1beta2: "rollout.strategy.rollingUpdate.maxSurge"},
		{v1beta1: "strategy.type", v1beta2: "rollout.strategy.type"},
	}

	checkMoves = []move{durationMove("timeout", "timeoutSeconds")}
)

func durationMove(v1beta1, v1beta2 string) move {
	return move{v1beta1: v1beta1, v1beta2: v1beta2, toHub: durationToHub, fromHub: durationFromHub}
}

func checksMove(v1beta1, v1beta2 string) move {
	return move{v1beta1: v1beta1, v1beta2: v1beta2, toHub: checksToHub, fromHub: checksFromHub}
}

// topologyToHub converts a topology. What v1beta2 has dropped, and has had no effect for long, is dropped.
func topologyToHub(in *runtime.RawExtension) *runtime.RawExtension {
	topology, ok := decodeObject(in)
	if !ok {
		return in
	}
	delete(topology, "rolloutAfter")
	dropDefinitions(topology["variables"])
	moveToHub(topology, topologyMoves)
	for _, part := range partsOf(topology) {
		dropDefinitions(member(part, "variables")["overrides"])
		moveToHub(part, nodeMoves)
	}
	return encodeObject(topology, in)
}

func topologyFromHub(in *runtime.RawExtension, namespace string) *runtime.RawExtension {
	topology, ok := decodeObject(in)
	if !ok {
		return in
	}
	moveFromHub(topology, topologyMoves)
	for _, part := range partsOf(topology) {
		moveFromHub(part, nodeMoves)
		if template := member(part, "machineHealthCheck", "remediationTemplate"); template != nil {
			template["namespace"] = namespace
		}
	}
	return encodeObject(topology, in)
}

// partsOf returns what describes machines: the control plane, MachineDeployments and MachinePools.
func partsOf(topology map[string]any) []map[string]any {
	var parts []map[string]any
	if controlPlane := member(topology, "controlPlane"); controlPlane != nil {
		parts = append(parts, controlPlane)
	}
	workers := member(topology, "workers")
	for _, name := range []string{"machineDeployments", "machinePools"} {
		parts = append(parts, objectsIn(workers[name])...)
	}
	return parts
}

func moveToHub(object map[string]any, moves []move) {
	for _, m := range moves {
		moveValue(object, m.v1beta1, m.v1beta2, m.toHub)
	}
}

func moveFromHub(object map[string]any, moves []move) {
	for _, m := range moves {
		moveValue(object, m.v1beta2, m.v1beta1, m.fromHub)
	}
}

func moveValue(object map[string]any, from, to string, change func(any) any) {
	value, found := take(object, strings.Split(from, "."))
	if !found || value == nil {
		return
	}
	if change != nil {
		value = change(value)
	}
	put(object, strings.Split(to, "."), value)
}

// take removes a value, and the objects around it that are empty then.
func take(object map[string]any, path []string) (any, bool) {
	if len(path) == 1 {
		value, found := object[path[0]]
		delete(object, path[0])
		return value, found
	}
	inner, ok := object[path[0]].(map[string]any)
	if !ok {
		return nil, false
	}
	value, found := take(inner, path[1:])
	if len(inner) == 0 {
		delete(object, path[0])
	}
	return value, found
}

// put sets a value, and makes the objects around it.
func put(object map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		inner, ok := object[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[name] = inner
		}
		object = inner
	}
	object[path[len(path)-1]] = value
}

func durationToHub(value any) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		return value
	}
	return wholeSeconds(duration)
}

func durationFromHub(value any) any {
	number, ok := value.(json.Number)
	if !ok {
		return value
	}
	seconds, err := number.Int64()
	if err != nil || int64(int32(seconds)) != seconds {
		return value
	}
	return (time.Duration(seconds) * time.Second).String()
}

func checksToHub(value any) any {
	for _, check := range objectsIn(value) {
		moveToHub(check, checkMoves)
	}
	return value
}

func checksFromHub(value any) any {
	for _, check := range objectsIn(value) {
		moveFromHub(check, checkMoves)
	}
	return value
}

// templateToHub keeps what a reference to a template has in v1beta2.
func templateToHub(value any) any {
	if reference, ok := value.(map[string]any); ok {
		for _, name := range []string{"namespace", "uid", "resourceVersion", "fieldPath"} {
			delete(reference, name)
		}
	}
	return value
}

func dropDefinitions(variables any) {
	for _, variable := range objectsIn(variables) {
		delete(variable, "definitionFrom")
	}
}

// member returns the object at a path, or nil if there is none.
func member(object map[string]any, path ...string) map[string]any {
	for _, name := range path {
		object, _ = object[name].(map[string]any)
	}
	return object
}

// objectsIn returns the objects of a list.
func objectsIn(value any) []map[string]any {
	list, _ := value.([]any)
	objects := make([]map[string]any, 0, len(list))
	for _, element := range list {
		if object, ok := element.(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// decodeObject reads a JSON object, with numbers as they are written. It reports false for anything else.
func decodeObject(raw *runtime.RawExtension) (map[string]any, bool) {
	if raw == nil || len(raw.Raw) == 0 {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(raw.Raw))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil || object == nil {
		return nil, false
	}
	return object, true
}

// encodeObject returns the object as JSON, or what it was made from in the case, which there is not, that this fails.
func encodeObject(object map[string]any, from *runtime.RawExtension) *runtime.RawExtension {
	raw, err := json.Marshal(object)
	if err != nil {
		return from
	}
	return &runtime.RawExtension{Raw: raw}
}
