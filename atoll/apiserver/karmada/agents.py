"""The roles that Karmada gives a plane: for clusters that register by themselves, and for people.

Anybody may read where the plane is. Whoever has a token made for that may ask for an agent's
certificate, and is approved at once; so is an agent that renews its own. Whoever
may edit a namespace (`edit`, `admin`) may say where its workloads go. Data.
"""

from collections.abc import Sequence

from atoll.apiserver.access.default_roles import GROUP, READ, WRITE, cluster_role
from atoll.wire import Wire

TOKEN_GROUP = "system:bootstrappers:karmada:default-cluster-token"
AGENTS = "system:karmada:agents"
AGENT = "system:karmada:agent:"
"""The user that the agent of a cluster is: this and the cluster's name."""


_LABELS = {"karmada.io/bootstrapping": "rbac-defaults"}
_INFO = "system:karmada:bootstrap-signer-clusterinfo"
_APPROVE = "system:karmada:certificatesigningrequest:autoapprover"
_APPROVE_OWN = "system:karmada:certificatesigningrequest:selfautoapprover"
_GENERATOR = "system:karmada:agent-rbac-generator"


def _role(name: str, *rules: Wire) -> tuple[str, Wire]:
    meta = {"name": name, "labels": dict(_LABELS)}
    return f"clusterroles.{GROUP}", {"metadata": meta, "rules": list(rules)}


def _binding(name: str, role: str, kind: str, subject: str) -> tuple[str, Wire]:
    return f"clusterrolebindings.{GROUP}", {
        "metadata": {"name": name, "labels": dict(_LABELS)},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": kind, "name": subject}],
    }


def _approved(part: str) -> Wire:
    parts = [f"certificatesigningrequests/{part}"]
    return {"verbs": ["create"], "apiGroups": ["certificates.k8s.io"], "resources": parts}


_PUBLIC = {"name": _INFO, "namespace": "kube-public", "labels": dict(_LABELS)}
_READ_INFO = {
    "verbs": ["get"],
    "apiGroups": [""],
    "resources": ["configmaps"],
    "resourceNames": ["cluster-info"],
}

AGENT_ROLES: tuple[tuple[str, Wire], ...] = (
    (f"roles.{GROUP}", {"metadata": _PUBLIC, "rules": [_READ_INFO]}),
    (
        f"rolebindings.{GROUP}",
        {
            "metadata": _PUBLIC,
            "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": _INFO},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": "system:anonymous"}],
        },
    ),
    _binding("system:karmada:agent-bootstrap", "system:node-bootstrapper", "Group", TOKEN_GROUP),
    _role(_APPROVE, _approved("clusteragent")),
    _binding("system:karmada:agent-autoapprove-bootstrap", _APPROVE, "Group", TOKEN_GROUP),
    _role(_APPROVE_OWN, _approved("selfclusteragent")),
    _binding(
        "system:karmada:agent-autoapprove-certificate-rotation", _APPROVE_OWN, "Group", AGENTS
    ),
    # The one who makes an agent's own rights when its cluster registers.
    _role(_GENERATOR, {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}),
    _binding(_GENERATOR, _GENERATOR, "User", "system:karmada:agent:rbac-generator"),
)


_KINDS = {
    "autoscaling.karmada.io": ("cronfederatedhpas", "federatedhpas"),
    "multicluster.x-k8s.io": ("serviceexports", "serviceimports"),
    "networking.karmada.io": ("multiclusteringresses", "multiclusterservices"),
    "policy.karmada.io": ("overridepolicies", "propagationpolicies"),
    "work.karmada.io": ("resourcebindings", "works"),
}
_WITHOUT_STATUS = ("policy.karmada.io",)


def _people_role(name: str, into: str, verbs: Sequence[str]) -> tuple[str, Wire]:
    rules = [
        {"verbs": list(verbs), "apiGroups": [group], "resources": _resources(group, plurals)}
        for group, plurals in _KINDS.items()
    ]
    return cluster_role(name, *rules, into=into)


def _resources(group: str, plurals: Sequence[str]) -> list[str]:
    if group in _WITHOUT_STATUS:
        return list(plurals)
    return [name for plural in plurals for name in (plural, f"{plural}/status")]


PEOPLE_ROLES: tuple[tuple[str, Wire], ...] = (
    _people_role("karmada-view", "view", READ),
    _people_role("karmada-edit", "edit", WRITE),
)
