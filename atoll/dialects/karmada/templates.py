"""Which objects are templates: whatever policies select, these alone may be propagated."""

import re

from atoll.dialects.karmada import names
from atoll.wire import Object

_OWN_GROUPS = re.compile(r"(.+\.)?atoll\.io|.+\.karmada\.io")
_PASSING_GROUPS = ("events.k8s.io", "coordination.k8s.io")
_ROOT_CA = "kube-root-ca.crt"
_CREDENTIALS = "kube-system/extension-apiserver-authentication"
_KEPT_BY_SERVER = "apf.kubernetes.io/autoupdate-spec"


def is_template(wire: Object) -> bool:
    """Whether policies may propagate this object at all."""
    metadata = wire.get("metadata") or {}
    namespace = metadata.get("namespace") or ""
    if namespace.startswith("kube-") or names.is_reserved(namespace) or is_generated(wire):
        return False
    if (metadata.get("labels") or {}).get(names.CLAIMED_BY):
        return False
    group = wire.get("apiVersion", "").rpartition("/")[0]
    if _OWN_GROUPS.fullmatch(group) or group in _PASSING_GROUPS:
        return False
    return (wire.get("apiVersion"), wire.get("kind")) != ("v1", "Event")


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
