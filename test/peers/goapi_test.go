// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const (
	ourPackages   = "github.com/machinist-dev/machinist/apis/cluster/"
	theirPackages = "sigs.k8s.io/cluster-api/api/core/"
	theirErrors   = "sigs.k8s.io/cluster-api/api/deprecated/errors"
)

// oursAlone are the exported names that Cluster API's package does not have.
var oursAlone = apiExceptions{
	{`^(SchemeGroupVersion|Resource)$`, "what code made by code-generator refers to"},
	{`^(Machine|Cluster)StatusError$|(Machine|Cluster)Error$`, "in Cluster API in a package of their own, " + theirErrors},
	{`^PendingHooksAnnotation$`, "in Cluster API part of the runtime hooks"},
	{`^SkipReferenceValidationAnnotation$`, "exempts from rules of ours"},
	{
		`^(ContractViolated|AlreadyOwned|CustomResourceDefinitionMissing|ContractVersionUnknown|KindNotSynced|ClusterDoesNotExist)Reason$`,
		"reasons of ours for what Cluster API reports as InternalError",
	},
}

// theirsAlone are the exported names of Cluster API's package that ours does not have.
var theirsAlone = apiExceptions{
	{`^MachineSet|MachineSet(Fallback|DeletionOrder)|^(DisableMachineCreate|AcknowledgedMove)Annotation$`, "MachineSets are not ours"},
	{
		`^(MachinesCreated|MachinesReady|Resized)V1Beta1Condition$|^(ScalingUp|ScalingDown|PreflightCheckFailed|MachineCreationFailed)V1Beta1Reason$|TemplateCloningFailedV1Beta1Reason$`,
		"conditions of MachineSets",
	},
	{`^MachineDeployment|MachineDeploymentStrategyType$|^WaitingForAvailableMachinesV1Beta1Reason$`, "MachineDeployments are not ours"},
	{`^(Desired|Max)ReplicasAnnotation$`, "annotations of MachineSets, by which a MachineDeployment counts"},
	{`^Autoscaler`, "annotations of MachineDeployments and MachineSets, for the autoscaler"},
	{`^MachinePool|^(WaitingFor)?ReplicasReadyV1Beta1|^ReplicasManagedByAnnotation$`, "MachinePools are not ours"},
	{`^(MachineTemplateSpec|ObjectMeta|MachineNamingSpec)$`, "templates of Machines are for those who create Machines"},
	{
		`^MachineHealthCheck(List|Spec|Status|Checks|Remediation\w*|TooManyUnhealthyReason|\w*DeprecatedStatus)?$|^Unhealthy(Node|Machine)Condition$|^DefaultNodeStartupTimeoutSeconds$`,
		"MachineHealthChecks are not ours; what they write on Machines is",
	},
	{`^ExternalRemediation|^(RemediationAllowed|TooManyUnhealthy)V1Beta1`, "conditions of MachineHealthChecks"},
	{
		`^ClusterClass|^ClusterVariable$|Class$|^InfrastructureClassNamingSpec$|^ControlPlaneClass|^(JSON|Variable|Patch|Validation|ExternalPatch|FieldValue)`,
		"ClusterClasses are not ours",
	},
	{`Topology|^ControlPlaneVariables$|^BeforeClusterUpgradeHookAnnotationPrefix$`, "we carry the topology through without looking at it"},
	{`^ManagedByAnnotation$`, "for InfraClusters only"},
	{`^CRDMigrationObservedGenerationAnnotation$`, "an internal of Cluster API's CRD migrator"},
	{`^Convert(_|From|To)`, "conversion is in our package v1beta1, in another form"},
	{`^GroupVersion(Infrastructure|Bootstrap|ControlPlane)$`, "we read the groups and versions of providers from their CustomResourceDefinitions"},
}

// changed are the members of types that both have, but not in the same form.
var changed = apiExceptions{
	{`^ClusterSpec\.Topology$|^Cluster\.GetClassKey$`, "we carry the topology through without looking at it"},
}

// oursAloneV1Beta1 are the exported names of our v1beta1 that Cluster API's does not have.
var oursAloneV1Beta1 = apiExceptions{
	{`^(Machine|Cluster)(To|From)Hub$|^Versions$|^UnknownVersion$|^ConversionDataAnnotation$`, "our conversion"},
}

// theirsAloneV1Beta1 are the exported names of Cluster API's v1beta1 that neither our v1beta1 nor our v1beta2 has.
var theirsAloneV1Beta1 = apiExceptions{
	{`^(Convert_|RegisterConversions$)`, "conversion is in our package, in another form"},
	{`MachineSet|MachineDeployment|MachinePool|MachineHealthCheck`, "kinds that are not ours"},
	{
		`^(MachineTemplateSpec|ObjectMeta|MachineRollingUpdateDeployment|RemediationStrategy|ZeroDuration|DefaultNodeStartupTimeout)$`,
		"parts of kinds that are not ours",
	},
	{
		`Class|Topology|Variable|NamingStrategy$|^LocalObjectTemplate$|^(JSON|Patch|Validation|ExternalPatch|FieldValue)`,
		"ClusterClasses are not ours, and we carry the topology through",
	},
	{`Annotation$|AnnotationPrefix$`, "annotations of kinds that are not ours"},
	{`(Condition|Reason)$`, "programs use the conditions of v1beta2"},
	{`IPFamily$`, "an idea that Cluster API has given up"},
	{`^GroupVersion(Infrastructure|Bootstrap|ControlPlane)$`, "we read the groups and versions of providers from their CustomResourceDefinitions"},
}

// changedV1Beta1 are the members of types that both have in v1beta1, but not in the same form.
var changedV1Beta1 = apiExceptions{
	{`^ClusterSpec\.Topology$`, "we carry the topology through, and convert its JSON"},
	{`^(Machine|Cluster)(Status)?\.[GS]et|^FailureDomains\.|^(APIEndpoint|NetworkRanges)\.(IsZero|IsValid|String)$`, "programs use v1beta2"},
}

// TestGoAPI compares the Go packages, so that a program can switch its import from one to the other: each exported
// constant has the same value, each type the same fields, tags and methods.
func TestGoAPI(t *testing.T) {
	ours, theirs := exported(t, ourPackages+"v1beta2"), exported(t, theirPackages+"v1beta2")
	compareGoAPI(t, ours, theirs, oursAlone, theirsAlone, changed)
}

// TestGoAPIV1Beta1 does the same for v1beta1, of which we have the types of what is served. What looks the same in both
// versions is only in our v1beta2.
func TestGoAPIV1Beta1(t *testing.T) {
	ours, theirs := exported(t, ourPackages+"v1beta1"), exported(t, theirPackages+"v1beta1")
	for name := range exported(t, ourPackages+"v1beta2") {
		if _, ok := ours[name]; !ok {
			delete(theirs, name)
		}
	}
	compareGoAPI(t, ours, theirs, oursAloneV1Beta1, theirsAloneV1Beta1, changedV1Beta1)
}

func compareGoAPI(t *testing.T, ours, theirs map[string]types.Object, oursAlone, theirsAlone, changed apiExceptions) {
	t.Helper()
	usedOurs, usedTheirs, usedChanged := usage{}, usage{}, usage{}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if _, ok := theirs[name]; !ok {
			if !usedOurs.covers(oursAlone, name) {
				t.Errorf("%s is only in ours, and not in oursAlone", name)
			}
			continue
		}
		mine, other := describe(ours[name]), describe(theirs[name])
		for _, member := range slices.Sorted(maps.Keys(union(mine, other))) {
			if mine[member] != other[member] && !usedChanged.covers(changed, member) {
				t.Errorf("%s differs, and is not in changed:\n  ours   %s\n  theirs %s", member, mine[member], other[member])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		if _, ok := ours[name]; !ok && !usedTheirs.covers(theirsAlone, name) {
			t.Errorf("%s is only in theirs, and not in theirsAlone", name)
		}
	}
	usedOurs.requireAll(t, "oursAlone", oursAlone)
	usedTheirs.requireAll(t, "theirsAlone", theirsAlone)
	usedChanged.requireAll(t, "changed", changed)
}

type (
	apiException  struct{ names, reason string }
	apiExceptions []apiException
)

// usage counts which exceptions were needed.
type usage map[int]bool

func (u usage) covers(exceptions apiExceptions, name string) bool {
	for i, exception := range exceptions {
		if regexp.MustCompile(exception.names).MatchString(name) {
			u[i] = true
			return true
		}
	}
	return false
}

func (u usage) requireAll(t *testing.T, list string, exceptions apiExceptions) {
	t.Helper()
	for i, exception := range exceptions {
		if !u[i] {
			t.Errorf("%s[%d] %q matches nothing", list, i, exception.names)
		}
	}
}

// exported loads a package and returns its exported objects by name.
func exported(t *testing.T, path string) map[string]types.Object {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes}, path)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]types.Object{}
	for _, p := range loaded {
		for _, err := range p.Errors {
			t.Fatalf("%s: %v", path, err)
		}
		for _, name := range p.Types.Scope().Names() {
			if ast.IsExported(name) {
				objects[name] = p.Types.Scope().Lookup(name)
			}
		}
	}
	return objects
}

// describe says what a program can rely on: the value of a constant, the type of a variable or function, the fields and
// methods of a type.
func describe(object types.Object) map[string]string {
	name := object.Name()
	switch object := object.(type) {
	case *types.Const:
		return map[string]string{name: typeName(object.Type()) + " = " + object.Val().ExactString()}
	case *types.TypeName:
		return describeType(name, object.Type())
	default:
		return map[string]string{name: typeName(object.Type())}
	}
}

func describeType(name string, typ types.Type) map[string]string {
	members := map[string]string{}
	structure, ok := typ.Underlying().(*types.Struct)
	if !ok {
		members[name] = typeName(typ.Underlying())
		structure = types.NewStruct(nil, nil)
	}
	for i := range structure.NumFields() {
		field := structure.Field(i)
		members[name+"."+field.Name()] = fmt.Sprintf("%s `%s`", typeName(field.Type()), structure.Tag(i))
	}
	for method := range types.NewMethodSet(types.NewPointer(typ)).Methods() {
		// Methods of embedded types come with the field.
		if len(method.Index()) == 1 && method.Obj().Exported() {
			members[name+"."+method.Obj().Name()] = typeName(method.Type())
		}
	}
	return members
}

// typeName spells a type so that the names of either package come out the same.
func typeName(typ types.Type) string {
	return types.TypeString(typ, func(p *types.Package) string {
		if strings.HasPrefix(p.Path(), ourPackages) || strings.HasPrefix(p.Path(), theirPackages) || p.Path() == theirErrors {
			return ""
		}
		return p.Path()
	})
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
