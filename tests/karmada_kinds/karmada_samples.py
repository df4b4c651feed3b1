"""One object of each of Karmada's kinds and of ours, as small as a user would write it."""

from dataclasses import dataclass, field

from atoll.wire import Wire

POLICY, WORK = "policy.karmada.io/v1alpha1", "work.karmada.io/v1alpha1"
PLACEMENT = "placement.atoll.io/v1alpha1"
BINDING, CONFIG = "work.karmada.io/v1alpha2", "config.karmada.io/v1alpha1"
DEPLOYMENTS = {"apiVersion": "apps/v1", "kind": "Deployment"}
RULE = {"overriders": {"labelsOverrider": [{"operator": "add", "value": {"a": "b"}}]}}
CONDITION = {
    "type": "Ready",
    "status": "True",
    "reason": "Sample",
    "message": "",
    "lastTransitionTime": "2026-05-01T10:00:00Z",
}


@dataclass(frozen=True)
class Sample:
    """A kind, where it is served, and what its object says beside its name."""

    api_version: str
    kind: str
    plural: str
    content: Wire
    namespaced: bool = False
    status: Wire | None = None
    columns: tuple[str, ...] = ("Name", "Age")
    short: tuple[str, ...] = field(default=())

    def path(self, name: str = "", end: str = "") -> str:
        where = "namespaces/default/" if self.namespaced else ""
        return "/".join(filter(None, (f"/apis/{self.api_version}", where + self.plural, name, end)))

    def named(self, name: str) -> Wire:
        head = {"apiVersion": self.api_version, "kind": self.kind, "metadata": {"name": name}}
        return {**head, **self.content}


_PROPAGATION = {"spec": {"resourceSelectors": [DEPLOYMENTS]}}
_OVERRIDE = {"spec": {"resourceSelectors": [DEPLOYMENTS], "overrideRules": [RULE]}}
_BINDING = {"spec": {"resource": {**DEPLOYMENTS, "name": "web", "namespace": "default"}}}
_BOUND = {"conditions": [{**CONDITION, "type": "Scheduled"}], "schedulerObservedGeneration": 1}
_HOOK = {
    "name": "interpret.example.com",
    "clientConfig": {"url": "https://interpreter.example.com/ask"},
    "interpreterContextVersions": ["v1alpha1"],
}
_POLICY_COLUMNS = ("Name", "CONFLICT-RESOLUTION", "PRIORITY", "AGE")
_BINDING_COLUMNS = ("Name", "SCHEDULED", "FULLYAPPLIED", "AGE")
_CLUSTER_COLUMNS = (
    *("Name", "Version", "Mode", "Ready", "Age"),
    *("Zones", "Region", "Provider", "API-Endpoint", "Proxy-URL"),
)

SAMPLES = (
    Sample(
        *(POLICY, "PropagationPolicy", "propagationpolicies", _PROPAGATION),
        namespaced=True,
        columns=_POLICY_COLUMNS,
        short=("pp",),
    ),
    Sample(
        *(POLICY, "ClusterPropagationPolicy", "clusterpropagationpolicies", _PROPAGATION),
        columns=_POLICY_COLUMNS,
        short=("cpp",),
    ),
    Sample(
        *(POLICY, "OverridePolicy", "overridepolicies", _OVERRIDE), namespaced=True, short=("op",)
    ),
    Sample(
        *(POLICY, "ClusterOverridePolicy", "clusteroverridepolicies", _OVERRIDE), short=("cop",)
    ),
    Sample(
        *(POLICY, "ClusterTaintPolicy", "clustertaintpolicies"),
        {"spec": {"taints": [{"key": "slow", "effect": "NoSchedule"}]}},
    ),
    Sample(
        *(BINDING, "ResourceBinding", "resourcebindings", _BINDING),
        namespaced=True,
        status=_BOUND,
        columns=_BINDING_COLUMNS,
        short=("rb",),
    ),
    Sample(
        *(BINDING, "ClusterResourceBinding", "clusterresourcebindings", _BINDING),
        status=_BOUND,
        columns=_BINDING_COLUMNS,
        short=("crb",),
    ),
    Sample(
        *(WORK, "Work", "works"),
        {"spec": {"workload": {"manifests": [{**DEPLOYMENTS, "metadata": {"name": "web"}}]}}},
        namespaced=True,
        status={"conditions": [{**CONDITION, "type": "Applied"}]},
        columns=("Name", "WORKLOAD-KIND", "APPLIED", "AGE"),
        short=("wk",),
    ),
    Sample(
        *("cluster.karmada.io/v1alpha1", "Cluster", "clusters"),
        {"spec": {"syncMode": "Push", "apiEndpoint": "https://member.example.com:6443"}},
        status={"kubernetesVersion": "v1.36.4", "conditions": [CONDITION]},
        columns=_CLUSTER_COLUMNS,
    ),
    Sample(
        *(CONFIG, "ResourceInterpreterCustomization", "resourceinterpretercustomizations"),
        {
            "spec": {
                "target": {"apiVersion": "example.io/v1", "kind": "Widget"},
                "customizations": {
                    "dependencyInterpretation": {"luaScript": "function GetDependencies() end"}
                },
            }
        },
        columns=("Name", "TARGET-API-VERSION", "TARGET-KIND", "AGE"),
        short=("ric",),
    ),
    Sample(
        *(CONFIG, "ResourceInterpreterWebhookConfiguration"),
        "resourceinterpreterwebhookconfigurations",
        {"webhooks": [_HOOK]},
    ),
    Sample(
        *("apps.karmada.io/v1alpha1", "WorkloadRebalancer", "workloadrebalancers"),
        {"spec": {"workloads": [{**DEPLOYMENTS, "name": "web", "namespace": "default"}]}},
        status={"observedGeneration": 1},
    ),
)

_OF = {"apiVersion": BINDING, "kind": "ResourceBinding", "name": "web-deployment", "uid": "u"}
_OUTCOME = {"verdict": "Success", "summary": "2 replicas in 1 cluster: a 2"}
_DECISION = {"time": "2026-05-01T10:00:00Z", "trigger": "replicasChanged", "outcome": _OUTCOME}
_EXPLANATION = {"binding": _OF, "decisions": [_DECISION]}
_EXPLANATION_COLUMNS = ("Name", "Outcome", "Trigger", "Cost", "Decided")

OWN_SAMPLES = (
    Sample(
        *(PLACEMENT, "Explanation", "explanations", _EXPLANATION),
        namespaced=True,
        columns=_EXPLANATION_COLUMNS,
        short=("why",),
    ),
    Sample(
        *(PLACEMENT, "ClusterExplanation", "clusterexplanations", _EXPLANATION),
        columns=_EXPLANATION_COLUMNS,
        short=("cwhy",),
    ),
    Sample(
        *(PLACEMENT, "ClusterPrice", "clusterprices"),
        {"spec": {"currency": "EUR", "perCPUHour": "0.031"}},
        status={"conditions": [{**CONDITION, "type": "InForce"}]},
        columns=(
            *("Name", "Cluster", "CPU-Hour", "GiB-Hour", "Currency", "In-Force", "Until"),
            *("Source", "Age"),
        ),
        short=("price", "prices"),
    ),
)
BY_KIND = {sample.kind: sample for sample in SAMPLES}
OWN_BY_KIND = {sample.kind: sample for sample in OWN_SAMPLES}
