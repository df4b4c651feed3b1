"""The roles and bindings that every cluster has from the start, as Kubernetes makes them. Data.

Those of people (`admin`, `edit`, `view`) collect what roles with the right label allow, so that
kinds which come later can be let in. Whoever wants one left alone sets its annotation `autoupdate`
to "false".
"""

from collections.abc import Sequence

from atoll.apiserver.access.issuing import PATHS
from atoll.wire import Wire

GROUP = "rbac.authorization.k8s.io"


AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_DEFAULTS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_AGGREGATE = f"{GROUP}/aggregate-to-"

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
READ_WRITE = ("get", "list", "watch", *WRITE)

_HEALTH = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_DISCOVERY = ["/api", "/api/*", "/apis", "/apis/*", *_HEALTH[:2], "/openapi", "/openapi/*"]
_MONITORING = [f"/{check}{more}" for check in ("healthz", "livez", "readyz") for more in ("", "/*")]
_MONITORING += ["/flagz", "/metrics", "/metrics/slis", "/statusz"]
_ISSUING = [*PATHS, *(f"{path}/" for path in PATHS)]
_TRUST = "extension-apiserver-authentication"  # whom servers behind this one are to believe
_APPS = ["daemonsets", "deployments", "deployments/scale", "replicasets", "replicasets/scale"]
_APPS += ["statefulsets", "statefulsets/scale"]
_APPS_STATUS = ["daemonsets/status", "deployments/status", "replicasets/status"]
_APPS_STATUS += ["statefulsets/status", "controllerrevisions"]
_CONTENT = ["configmaps", "persistentvolumeclaims", "replicationcontrollers"]
_CONTENT += ["replicationcontrollers/scale", "serviceaccounts", "services"]
_STREAMS = ["pods/attach", "pods/exec", "pods/portforward", "pods/proxy"]
_LIMITS = ["bindings", "events", "limitranges", "namespaces/status", "pods/log", "pods/status"]
_LIMITS += ["replicationcontrollers/status", "resourcequotas", "resourcequotas/status"]


def _rule(groups: str, resources: Sequence[str], verbs: Sequence[str]) -> Wire:
    return {"verbs": sorted(verbs), "apiGroups": groups.split(","), "resources": sorted(resources)}


def _paths(urls: Sequence[str], verbs: Sequence[str] = ("get",)) -> Wire:
    return {"verbs": list(verbs), "nonResourceURLs": sorted(urls)}


def cluster_role(name: str, *rules: Wire, into: str = "") -> tuple[str, Wire]:
    """A role; `into` is the role of people that collects it."""
    labels = {**_DEFAULTS, **({_AGGREGATE + into: "true"} if into else {})}
    meta = {"name": name, "labels": labels, "annotations": {AUTO_UPDATE: "true"}}
    return f"clusterroles.{GROUP}", {"metadata": meta, "rules": list(rules)}


def _within(namespace: str, role: tuple[str, Wire]) -> tuple[str, Wire]:
    """A role, for one namespace only."""
    _, made = role
    return f"roles.{GROUP}", {**made, "metadata": {**made["metadata"], "namespace": namespace}}


def _collecting(name: str, *, into: str = "") -> tuple[str, Wire]:
    collection, role = cluster_role(name, into=into)
    selectors = [{"matchLabels": {_AGGREGATE + name: "true"}}]
    return collection, {**role, "aggregationRule": {"clusterRoleSelectors": selectors}}


def _binding(name: str, *groups: str) -> tuple[str, Wire]:
    meta = {"name": name, "labels": dict(_DEFAULTS), "annotations": {AUTO_UPDATE: "true"}}
    return f"clusterrolebindings.{GROUP}", {
        "metadata": meta,
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": group} for group in groups],
    }


_VIEW = (
    _rule("", [*_CONTENT, "pods", "endpoints", "services/status"], READ),
    _rule("", ["persistentvolumeclaims/status", "namespaces", *_LIMITS], READ),
    _rule("discovery.k8s.io", ["endpointslices"], READ),
    _rule("events.k8s.io", ["events"], READ),
    _rule("apps", [*_APPS, *_APPS_STATUS], READ),
    _rule("batch", ["cronjobs", "cronjobs/status", "jobs", "jobs/status"], READ),
    _rule("autoscaling", ["horizontalpodautoscalers", "horizontalpodautoscalers/status"], READ),
    _rule("policy", ["poddisruptionbudgets", "poddisruptionbudgets/status"], READ),
    _rule("networking.k8s.io", ["ingresses", "ingresses/status", "networkpolicies"], READ),
)
_EDIT = (
    _rule("", [*_STREAMS, "secrets", "services/proxy"], READ),
    _rule("", ["serviceaccounts"], ["impersonate"]),
    _rule("", ["pods", *_STREAMS], WRITE),
    _rule("", ["pods/eviction", "serviceaccounts/token"], ["create"]),
    _rule("", [*_CONTENT, "events", "secrets", "services/proxy"], WRITE),
    _rule("events.k8s.io", ["events"], WRITE),
    _rule("apps", [*_APPS, "deployments/rollback"], WRITE),
    _rule("batch", ["cronjobs", "jobs"], WRITE),
    _rule("autoscaling", ["horizontalpodautoscalers"], WRITE),
    _rule("policy", ["poddisruptionbudgets"], WRITE),
    _rule("networking.k8s.io", ["ingresses", "networkpolicies"], WRITE),
    _rule("coordination.k8s.io", ["leases"], READ_WRITE),
)
_ADMIN = (
    _rule("authorization.k8s.io", ["localsubjectaccessreviews"], ["create"]),
    _rule(GROUP, ["rolebindings", "roles"], READ_WRITE),
)
_SELF = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]
_CERTIFICATES = "certificates.k8s.io"

ROLES: tuple[tuple[str, Wire], ...] = (
    cluster_role("cluster-admin", _rule("*", ["*"], ["*"]), _paths(["*"], ["*"])),
    cluster_role("system:discovery", _paths([*_DISCOVERY, *_HEALTH[2:]])),
    cluster_role("system:public-info-viewer", _paths(_HEALTH)),
    cluster_role(
        "system:basic-user",
        _rule("authorization.k8s.io", _SELF, ["create"]),
        _rule("authentication.k8s.io", ["selfsubjectreviews"], ["create"]),
    ),
    cluster_role(
        "system:node-bootstrapper",
        _rule(_CERTIFICATES, ["certificatesigningrequests"], [*READ, "create"]),
    ),
    cluster_role(
        "system:auth-delegator",
        _rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
        _rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    ),
    cluster_role("system:monitoring", _paths(_MONITORING), _rule("", ["nodes/metrics"], ["get"])),
    cluster_role("system:service-account-issuer-discovery", _paths(_ISSUING)),
    _within(
        "kube-system",
        cluster_role(
            f"{_TRUST}-reader", {**_rule("", ["configmaps"], READ), "resourceNames": [_TRUST]}
        ),
    ),
    _collecting("admin"),
    _collecting("edit", into="admin"),
    _collecting("view", into="edit"),
    cluster_role("system:aggregate-to-admin", *_ADMIN, into="admin"),
    cluster_role("system:aggregate-to-edit", *_EDIT, into="edit"),
    cluster_role("system:aggregate-to-view", *_VIEW, into="view"),
)

BINDINGS: tuple[tuple[str, Wire], ...] = (
    _binding("system:monitoring", "system:monitoring"),
    _binding("system:service-account-issuer-discovery", "system:serviceaccounts"),
    _binding("cluster-admin", "system:masters"),
    _binding("system:discovery", "system:authenticated"),
    _binding("system:basic-user", "system:authenticated"),
    _binding("system:public-info-viewer", "system:authenticated", "system:unauthenticated"),
)


def completed(there: Wire, wanted: Wire) -> Wire:
    """What is there, and what it lacks of what is wanted, unless it is to be left alone."""
    if (there["metadata"].get("annotations") or {}).get(AUTO_UPDATE) == "false":
        return there
    if "aggregationRule" in wanted:  # what it allows is collected, and its rule people's own
        return there
    field = "rules" if "rules" in wanted else "subjects"
    known = there.get(field) or []
    lacking = [one for one in wanted[field] if one not in known]
    return {**there, field: [*known, *lacking]} if lacking else there
