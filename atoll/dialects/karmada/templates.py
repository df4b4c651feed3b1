"""Which objects are templates, and which of them a policy selects.

In come objects and policies as on the wire, out come yes or no and how closely a policy means an
object. Knows nothing of other policies: which one wins is the business of `choosing`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from atoll.dialects.karmada import names
from atoll.dialects.kubernetes.selectors import label_selector
from atoll.errors import Invalid
from atoll.model.action import Object

POLICY, CLUSTER_POLICY = "PropagationPolicy", "ClusterPropagationPolicy"

_OWN_GROUPS = re.compile(r"(.+\.)?atoll\.io|.+\.karmada\.io")
_PASSING_GROUPS = ("events.k8s.io", "coordination.k8s.io")
_API_PARTS_MAX = 3
_ROOT_CA = "kube-root-ca.crt"
_CREDENTIALS = "kube-system/extension-apiserver-authentication"
_KEPT_BY_SERVER = "apf.kubernetes.io/autoupdate-spec"


class Closeness(IntEnum):
    """How closely a selector means an object; the closer one wins among equals."""

    NOT_MEANT = 0
    KIND = 1
    LABELS = 2
    NAME = 3


@dataclass(frozen=True, slots=True)
class Rules:
    """What is never propagated besides the plane's own objects, and which gates are open."""

    namespaces: tuple[re.Pattern[str], ...] = (re.compile("kube-.*"),)
    apis: frozenset[str] = frozenset()
    preemption: bool = False
    priority: bool = False
    affinity: bool = False


def skipped_namespaces(written: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    """Patterns of whole names of namespaces from which nothing is propagated."""
    found = []
    for each in written:
        try:
            found.append(re.compile(each))
        except re.error as error:
            problem = f"is no regular expression: {error}"
            raise Invalid("skipped-propagating-namespaces", each, problem) from error
    return tuple(found)


def skipped_apis(written: str) -> frozenset[str]:
    """APIs not to propagate: `group;group/version;group/version/Kind,Kind;v1/Kind`."""
    found: set[str] = set()
    for token in filter(None, (each.strip() for each in written.split(";"))):
        start, slash, last = token.rpartition("/")
        if len(token.split("/")) > _API_PARTS_MAX:
            problem = "write a group, a group/version or group/version/Kind,Kind"
            raise Invalid("skipped-propagating-apis", token, problem)
        found.update(start + slash + each.strip() for each in last.split(","))
    return frozenset(found)


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
    metadata = template.get("metadata") or {}
    namespace = metadata.get("namespace") or ""
    if policy.get("kind") == POLICY:
        own = (policy.get("metadata") or {}).get("namespace")
        if not namespace or own != namespace:
            return Closeness.NOT_MEANT
    selectors = (policy.get("spec") or {}).get("resourceSelectors") or ()
    return max((_meant(each, template) for each in selectors), default=Closeness.NOT_MEANT)


def _meant(selector: Object, template: Object) -> Closeness:
    metadata = template.get("metadata") or {}
    if any(selector.get(key) != template.get(key) for key in ("apiVersion", "kind")):
        return Closeness.NOT_MEANT
    if selector.get("namespace") and selector["namespace"] != metadata.get("namespace"):
        return Closeness.NOT_MEANT
    if selector.get("name"):
        named = selector["name"] == metadata.get("name")
        return Closeness.NAME if named else Closeness.NOT_MEANT
    if _is_in_every_namespace(template):
        return Closeness.NOT_MEANT
    if selector.get("labelSelector") is None:
        return Closeness.KIND
    try:
        wanted = label_selector(selector["labelSelector"], "labelSelector")
    except Invalid:  # whoever wrote it was told on writing; until it is corrected it means nothing
        return Closeness.NOT_MEANT
    matches = wanted.matches(metadata.get("labels") or {})
    return Closeness.LABELS if matches else Closeness.NOT_MEANT


def _is_in_every_namespace(template: Object) -> bool:
    """Whether each cluster makes one by itself: whoever means ours must name or label it."""
    metadata = template.get("metadata") or {}
    is_default = (template.get("kind"), metadata.get("name")) == ("ServiceAccount", "default")
    return is_default and not metadata.get("labels")
