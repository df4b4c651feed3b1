"""What the roles of people (`view`, `edit`, and so `admin`) allow on Karmada's kinds. Data.

Whoever may edit a namespace may say where its workloads go, under the names Karmada gives this.
"""

from collections.abc import Sequence

from atoll.apiserver.access.default_roles import AUTO_UPDATE, GROUP, READ, WRITE
from atoll.wire import Object

_KINDS = {
    "autoscaling.karmada.io": ("cronfederatedhpas", "federatedhpas"),
    "multicluster.x-k8s.io": ("serviceexports", "serviceimports"),
    "networking.karmada.io": ("multiclusteringresses", "multiclusterservices"),
    "policy.karmada.io": ("overridepolicies", "propagationpolicies"),
    "work.karmada.io": ("resourcebindings", "works"),
}
_WITHOUT_STATUS = ("policy.karmada.io",)


def _role(name: str, into: str, verbs: Sequence[str]) -> tuple[str, Object]:
    labels = {
        "kubernetes.io/bootstrapping": "rbac-defaults",
        f"{GROUP}/aggregate-to-{into}": "true",
    }
    meta = {"name": name, "labels": labels, "annotations": {AUTO_UPDATE: "true"}}
    rules = [
        {"verbs": list(verbs), "apiGroups": [group], "resources": _resources(group, plurals)}
        for group, plurals in _KINDS.items()
    ]
    return f"clusterroles.{GROUP}", {"metadata": meta, "rules": rules}


def _resources(group: str, plurals: Sequence[str]) -> list[str]:
    if group in _WITHOUT_STATUS:
        return list(plurals)
    return [name for plural in plurals for name in (plural, f"{plural}/status")]


PEOPLE_ROLES: tuple[tuple[str, Object], ...] = (
    _role("karmada-view", "view", READ),
    _role("karmada-edit", "edit", WRITE),
)
