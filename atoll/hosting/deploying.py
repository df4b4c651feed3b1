"""Putting an installation on a host, object by object, and telling what became of each.

A client and objects come in, changes go out. What is there already is brought up to date; what an
earlier installation had and this one does not want is taken away. Refused before anything is
written: a server that runs no pods, and an installation that somebody else looks after. A plane on
another API server than the host's is made ready in `elsewhere`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from atoll.client.collection import Collection
from atoll.client.plain import PlainClient
from atoll.errors import UsageError
from atoll.hosting.installation import LABELS, NAME, Installation, objects_of, objects_on_plane
from atoll.hosting.registering import roles
from atoll.hosting.rights import RIGHTS, RIGHTS_ELSEWHERE
from atoll.members.agent_home import DEPLOYMENTS
from atoll.members.objects import ACCOUNTS, NAMESPACES, RBAC, ROLE_BINDINGS, ROLES, SECRETS
from atoll.wire import Wire

PODS = Collection("v1", "Pod", "pods", namespaced=True)
_MONITORING = "monitoring.coreos.com/v1"
SERVICE_MONITORS = Collection(_MONITORING, "ServiceMonitor", "servicemonitors", namespaced=True)
COLLECTIONS = {
    each.kind: each
    for each in (
        NAMESPACES,
        ACCOUNTS,
        ROLES,
        ROLE_BINDINGS,
        Collection(RBAC, "Role", "roles", namespaced=True),
        Collection(RBAC, "RoleBinding", "rolebindings", namespaced=True),
        SECRETS,
        Collection("v1", "Service", "services", namespaced=True),
        DEPLOYMENTS,
        Collection("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True),
        Collection("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", namespaced=True),
        SERVICE_MONITORS,
    )
}
OURS = {"labelSelector": ",".join(f"{key}={value}" for key, value in LABELS.items())}

_OLDEST_MINOR = 30  # webhooks with conditions
_HELM = "meta.helm.sh/release-name"


@dataclass(frozen=True, slots=True)
class Change:
    """What became of an object."""

    title: str
    done: str

    def __str__(self) -> str:
        return f"{self.title} {self.done}"


def title_of(wire: Wire) -> str:
    """An object as kubectl would name it."""
    group, slash, _ = wire["apiVersion"].partition("/")
    kind = wire["kind"].lower()
    what = f"{kind}.{group}" if slash else kind
    return f"{what}/{wire['metadata']['name']}"


def everything(wanted: Installation) -> list[Wire]:
    """All objects of an installation, with the roles that it may not give to others itself."""
    given = _given() if wanted.plane is None else []
    return [*objects_of(wanted, RIGHTS), *given]


def everything_on_plane(wanted: Installation) -> list[Wire]:
    """What belongs on the API server of a plane elsewhere before replicas can be let in there."""
    return [*objects_on_plane(wanted, RIGHTS_ELSEWHERE), *_given()]


def _given() -> list[Wire]:
    return [wire for _, wire in roles()]


def check_host(host: PlainClient, namespace: str) -> None:
    """UsageError if a server is no host for us, or has an installation that is Helm's."""
    check_version(host, "where no pods run; name a cluster with --kubeconfig")
    deployment = host.find(DEPLOYMENTS.path(namespace, NAME))
    annotations = (deployment["metadata"].get("annotations") or {}) if deployment else {}
    if _HELM in annotations:
        raise UsageError(
            f"Helm looks after this installation, as release {annotations[_HELM]};"
            " use helm upgrade or helm uninstall"
        )


def check_version(server: PlainClient, not_ours: str) -> None:
    """UsageError if a server is too old, or, for a reason that is given, one of `atoll up`."""
    version = server.get("/version")
    told = str(version.get("gitVersion", ""))
    if "+atoll-" in told:
        raise UsageError(
            f"{server.endpoint} is a plane or a simulated cluster of `atoll up`, {not_ours}"
        )
    digits = re.match(r"\d+", str(version.get("minor", "")))
    if digits and str(version.get("major")) == "1" and int(digits[0]) < _OLDEST_MINOR:
        raise UsageError(
            f"{server.endpoint} is Kubernetes {told}; 1.{_OLDEST_MINOR} or newer is needed"
        )


def check_room(server: PlainClient, namespace: str) -> None:
    """UsageError if a server is a plane already, by an installation in another namespace."""
    found = server.find(COLLECTIONS["ClusterRoleBinding"].path(name=NAME))
    for each in found.get("subjects") or () if found else ():
        if each.get("name") == NAME and each.get("namespace") not in (None, namespace):
            there = each["namespace"]
            raise UsageError(
                f"there is an installation in namespace {there}, and a host has room for one;"
                f" use --namespace {there}"
            )


def has_service_monitors(host: PlainClient) -> bool:
    """Whether the kind is known by which Prometheus' operator finds whom to ask."""
    known = host.find(f"/apis/{_MONITORING}") or {}
    return any(each.get("name") == SERVICE_MONITORS.plural for each in known.get("resources") or ())


def deploy(
    host: PlainClient, objects: Sequence[Wire], *, is_trial: bool = False
) -> Iterator[Change]:
    """Have these objects, one after the other; as a trial, only ask what would become of them."""
    if not is_trial:
        try_wide(host, objects)
    new: set[str] = set()
    for each in objects:
        if is_trial and each["metadata"].get("namespace") in new:
            yield Change(title_of(each), "created")  # where nothing is yet, nothing can be tried
            continue
        change = _apply(host, each, is_trial=is_trial)
        if each["kind"] == NAMESPACES.kind and change.done == "created":
            new.add(each["metadata"]["name"])
        yield change


def try_wide(host: PlainClient, objects: Sequence[Wire]) -> None:
    """Refused if a user may not do this: objects of the whole cluster show it, and stay."""
    for each in objects:
        if "namespace" not in each["metadata"]:
            _apply(host, each, is_trial=True)


def retire(
    host: PlainClient, objects: Sequence[Wire], all_of_them: Sequence[Wire], *, is_trial: bool
) -> Iterator[Change]:
    """Take away what an earlier installation may have had of all there is, and this one has not."""
    wanted = {_path_of(each) for each in objects}
    for each in reversed(all_of_them):
        path = _path_of(each)
        found = host.find(path) if path not in wanted else None
        if found is None or (is_ours(each) and not is_ours(found)):
            continue
        if not is_trial:
            host.delete(path, found["metadata"]["uid"])
        yield Change(title_of(each), "deleted")


def _path_of(wire: Wire) -> str:
    return COLLECTIONS[wire["kind"]].path_of(wire)


def is_ours(wire: Wire) -> bool:
    """Whether an object is part of an installation."""
    return LABELS.items() <= (wire["metadata"].get("labels") or {}).items()


def _apply(host: PlainClient, wire: Wire, *, is_trial: bool) -> Change:
    before = host.find(_path_of(wire))
    answer = host.apply(_path_of(wire), wire, is_trial=is_trial)
    if before is None:
        return Change(title_of(wire), "created")
    same = _content(before) == _content(answer.json())
    return Change(title_of(wire), "unchanged" if same else "configured")


def _content(wire: Wire) -> dict[str, Any]:
    kept = ("name", "namespace", "labels", "annotations")
    metadata = {key: value for key, value in wire["metadata"].items() if key in kept}
    return {**wire, "metadata": metadata}


def still_missing(host: PlainClient, namespace: str) -> str:
    """What keeps an installation from running as it should; nothing if it does."""
    deployment = host.get(DEPLOYMENTS.path(namespace, NAME))
    status, wanted = deployment.get("status") or {}, deployment["spec"].get("replicas", 1)
    is_seen = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    new, good = (
        status.get(f"{key}Replicas", 0) if is_seen else 0 for key in ("updated", "available")
    )
    if new >= wanted and good >= wanted and status.get("replicas", 0) == wanted:
        return ""
    troubles = sorted({each for pod in host.list(PODS, namespace, OURS) for each in _troubles(pod)})
    told = f"; {'; '.join(troubles)}" if troubles else ""
    return f"{min(new, good)} of {wanted} replicas run{told}"


def _troubles(pod: Wire) -> Iterator[str]:
    """Why a pod does not run, in the words of those who try."""
    status = pod.get("status") or {}
    for each in status.get("containerStatuses") or ():
        waiting = (each.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            yield ": ".join(filter(None, (waiting["reason"], waiting.get("message"))))
    for each in status.get("conditions") or ():
        if each["type"] == "PodScheduled" and each["status"] == "False":
            yield ": ".join(filter(None, (each.get("reason"), each.get("message"))))
