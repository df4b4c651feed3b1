"""Which objects are templates, and which of them a policy selects.

In come objects and policies as on the wire, out come yes or no and how closely a policy means an
object. Knows nothing of other policies: which one wins is the business of `choosing`.
"""

import re
from dataclasses import dataclass

from atoll.dialects.karmada import names
from atoll.dialects.kubernetes.selectors import label_selector
from atoll.errors import Invalid
from atoll.model.action import Object
from atoll.model.resource_selector import Closeness, ResourceSelector

POLICY, CLUSTER_POLICY = "PropagationPolicy", "ClusterPropagationPolicy"

_OWN_GROUPS = re.compile(r"(.+\.)?atoll\.io|.+\.karmada\.io")
_PASSING_GROUPS = ("events.k8s.io", "coordination.k8s.io")
_ROOT_CA = "kube-root-ca.crt"
_CREDENTIALS = "kube-system/extension-apiserver-authentication"
_KEPT_BY_SERVER = "apf.kubernetes.io/autoupdate-spec"


@dataclass(frozen=True, slots=True)
class Rules:
    """What is never propagated besides the plane's own objects, and which gates are open."""

    namespaces: tuple[re.Pattern[str], ...] = (re.compile("kube-.*"),)
    apis: frozenset[str] = frozenset()
    preemption: bool = False
    priority: bool = False
    affinity: bool = False


def is_template(wire: Object, rules: Rules) -> bool:
    """Whether policies may propagate this object at all."""
    metadata = wire.get("metadata") or {}
    namespace = metadata.get("namespace") or ""
    if names.is_reserved(namespace) or is_generated(wire):
        return False
    if any(pattern.fullmatch(namespace) for pattern in rules.namespaces if namespace):
        return False
    if (metadata.get("labels") or {}).get(names.CLAIMED_BY):
        return False
    return may_propagate(wire.get("apiVersion", ""), wire.get("kind", ""), rules)


def may_propagate(api_version: str, kind: str, rules: Rules) -> bool:
    """Whether objects of a kind are ever propagated; those of others need not be watched."""
    group = api_version.rpartition("/")[0]
    if _OWN_GROUPS.fullmatch(group) or group in _PASSING_GROUPS:
        return False
    if (api_version, kind) == ("v1", "Event"):
        return False
    return rules.apis.isdisjoint((group, api_version, f"{api_version}/{kind}"))


def is_generated(wire: Object) -> bool:
    """Whether an object is the API server's own, different in every cluster."""
    metadata = wire.get("metadata") or {}
    namespace, name = metadata.get("namespace") or "", metadata.get("name") or ""
    match wire.get("kind"):
        case "ConfigMap":
            return name == _ROOT_CA or f"{namespace}/{name}" == _CREDENTIALS
        case "Service" | "Endpoints" | "EndpointSlice":
            return f"{namespace}/{name}" == "default/kubernetes"
        case "PriorityClass":
            return name.startswith("system-")
        case "ServiceCIDR":
            return name == "kubernetes"
        case "FlowSchema" | "PriorityLevelConfiguration":
            return _KEPT_BY_SERVER in (metadata.get("annotations") or {})
        case "APIService":
            return not (wire.get("spec") or {}).get("service")
    return False


def closeness(policy: Object, template: Object) -> Closeness:
    """How closely any selector of a policy means a template."""
    if policy.get("kind") == POLICY and not (template.get("metadata") or {}).get("namespace"):
        return Closeness.NOT_MEANT
    found = (each.closeness(template) for each in selectors_of(policy))
    return max(found, default=Closeness.NOT_MEANT)


def selectors_of(policy: Object) -> list[ResourceSelector]:
    """What a policy selects; that of a namespace selects nothing outside of it."""
    own = ""
    if policy.get("kind") == POLICY:
        own = (policy.get("metadata") or {}).get("namespace") or ""
    selectors = (policy.get("spec") or {}).get("resourceSelectors") or ()
    found = (resource_selector(each, own) for each in selectors)
    return [each for each in found if each is not None]


def resource_selector(wire: Object, own: str = "") -> ResourceSelector | None:
    """A selector of a policy that may reach into its own namespace only, if it has one.

    None for one that means nothing: whoever wrote it was told on writing.
    """
    namespace = wire.get("namespace") or own
    if own and namespace != own:
        return None
    name, labels = wire.get("name") or "", None
    if not name and wire.get("labelSelector") is not None:
        try:
            labels = label_selector(wire["labelSelector"], "labelSelector")
        except Invalid:
            return None
    return ResourceSelector(
        wire.get("apiVersion", ""), wire.get("kind", ""), namespace, name, labels
    )
