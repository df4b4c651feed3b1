"""What the agent of one cluster may do in the plane: the roles that Karmada gives it, by its names.

A cluster's name comes in, objects go out. It sees its own Works, writes its own status and Secrets,
and reads what users say of their kinds. Nothing is sent here.
"""

from collections.abc import Iterator, Sequence

from atoll.client.collection import Collection
from atoll.dialects.karmada import names
from atoll.members.objects import RBAC, ROLE_BINDINGS, ROLES, named
from atoll.wire import Wire

LOCAL_ROLES = Collection(RBAC, "Role", "roles", namespaced=True)
LOCAL_BINDINGS = Collection(RBAC, "RoleBinding", "rolebindings", namespaced=True)
_READ = ("get", "list", "watch")
_EXPLAINED = ("resourceinterpreterwebhookconfigurations", "resourceinterpretercustomizations")


def agent_user(cluster: str) -> str:
    """As whom the agent of a cluster speaks to the plane."""
    return f"system:karmada:agent:{cluster}"


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str], *only: str) -> Wire:
    rule: Wire = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    return {**rule, "resourceNames": list(only)} if only else rule


def _everywhere(cluster: str) -> list[Wire]:
    return [
        _rule("cluster.karmada.io", ["clusters"], ["get", "delete"], cluster),
        _rule("cluster.karmada.io", ["clusters"], ["create", "list", "watch"]),
        _rule("cluster.karmada.io", ["clusters/status"], ["update"], cluster),
        _rule("config.karmada.io", _EXPLAINED, _READ),
        _rule("", ["namespaces"], ["get"]),
        _rule("coordination.k8s.io", ["leases"], ["get", "create", "update"]),
        _rule("certificates.k8s.io", ["certificatesigningrequests"], ["get", "create"]),
        _rule("placement.atoll.io", ["clusternodes"], ["get", "update"], cluster),
        _rule("placement.atoll.io", ["clusternodes"], ["create"]),
        _rule("", ["services"], ["list", "watch"]),
        _rule("", ["events"], ["patch", "create", "update"]),
    ]


def _secrets(cluster: str) -> list[Wire]:
    return [
        _rule("", ["secrets"], ["get", "patch"], cluster, f"{cluster}-impersonator"),
        _rule("", ["secrets"], ["create"]),
    ]


_WORKS = [
    _rule("work.karmada.io", ["works"], [*_READ, "create", "update", "delete"]),
    _rule("work.karmada.io", ["works/status"], ["patch", "update"]),
]


def spaces(cluster: str, space: str) -> list[Wire]:
    """The namespaces in which an agent has rights."""
    both = (space, names.execution_namespace(cluster))
    return [named("v1", "Namespace", each) for each in both]


def rights(cluster: str, space: str) -> Iterator[tuple[Collection, Wire, str]]:
    """An agent's roles and bindings, and for each the part that counts."""
    name = f"system:karmada:{cluster}:agent"
    yield ROLES, {**_named("ClusterRole", name), "rules": _everywhere(cluster)}, "rules"
    yield ROLE_BINDINGS, _binding("ClusterRole", name, cluster), "subjects"
    works = names.execution_namespace(cluster)
    for role, within, rules in (
        (f"{name}-secret", space, _secrets(cluster)),
        (f"{name}-work", works, _WORKS),
    ):
        yield LOCAL_ROLES, {**_named("Role", role, within), "rules": rules}, "rules"
        yield LOCAL_BINDINGS, _binding("Role", role, cluster, within), "subjects"


def _named(kind: str, name: str, namespace: str = "") -> Wire:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": RBAC, "kind": kind, "metadata": metadata}


def _binding(kind: str, role: str, cluster: str, namespace: str = "") -> Wire:
    group = RBAC.partition("/")[0]
    return {
        **_named(f"{kind}Binding", role, namespace),
        "roleRef": {"apiGroup": group, "kind": kind, "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": agent_user(cluster)}],
    }


def described(cluster: str, space: str) -> list[str]:
    """The same, for people."""
    found = [f"Namespace {each['metadata']['name']}" for each in spaces(cluster, space)]
    for collection, wire, _ in rights(cluster, space):
        within = wire["metadata"].get("namespace")
        place = f"{within}/" if within else ""
        found.append(f"{collection.kind} {place}{wire['metadata']['name']}")
    return found
