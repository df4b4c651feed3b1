"""Taking an installation off a host, in an order in which nobody is locked out.

Clients come in, of the host and of its plane, which may be the same; changes go out. First the
plane forgets whom to ask about our kinds, so that writes need no answer of ours; then the replicas
go, then what they needed. The objects of users stay, unless they are purged. Member clusters are
never spoken to: what was delivered stays there.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from atoll.client.collection import Collection
from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing, Refused, Stale
from atoll.dialects.karmada import names
from atoll.errors import UsageError
from atoll.hosting import installation
from atoll.hosting.deploying import (
    COLLECTIONS,
    OURS,
    PODS,
    Change,
    everything,
    everything_on_plane,
    is_ours,
    title_of,
)
from atoll.hosting.place import OUTSIDE, Place
from atoll.hosting.registering import API_SERVICES, Registration, definitions, registrations
from atoll.hosting.registry import RECORDS
from atoll.members.agent_home import DEPLOYMENTS
from atoll.members.objects import ACCOUNTS, NAMESPACES, SECRETS
from atoll.members.patience import Pause, tries
from atoll.members.unjoining import WORKS, clear_namespace
from atoll.members.unregistering import LEASES
from atoll.wire import Wire

LEASE = "atoll-controllers"

_MANAGERS = frozenset(["atoll", "atoll-cli"])
_FINALIZERS = frozenset(
    [
        names.POLICY_FINALIZER,
        names.CLUSTER_POLICY_FINALIZER,
        names.BINDING_FINALIZER,
        names.CLUSTER_BINDING_FINALIZER,
        names.DEPENDENCIES_FINALIZER,
        names.EXECUTION_FINALIZER,
        names.CLUSTER_FINALIZER,
    ]
)
_STEP_S = 0.5


@dataclass(frozen=True, slots=True)
class Wish:
    """From which namespace an installation is to go, and how long its pods are waited for."""

    namespace: str
    wait_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Inventory:
    """What users have in the plane, and would no longer be looked after; whose agents live on."""

    clusters: int = 0
    works: int = 0
    with_agents: tuple[str, ...] = ()


def inventory(host: PlainClient) -> Inventory:
    """Count what there is."""
    clusters = _listed(host, RECORDS)
    agents = [each for each in clusters if (each.get("spec") or {}).get("syncMode") == "Pull"]
    names_of = tuple(each["metadata"]["name"] for each in agents)
    return Inventory(len(clusters), _counted(host, WORKS), names_of)


def _counted(host: PlainClient, collection: Collection) -> int:
    """How many there are, without looking at all of them."""
    found = host.find(f"{collection.path()}?limit=1") or {}
    rest = (found.get("metadata") or {}).get("remainingItemCount", 0)
    return len(found.get("items") or ()) + int(rest)


def _listed(host: PlainClient, collection: Collection) -> list[Wire]:
    try:
        return host.list(collection)
    except Missing:
        return []


def steps(
    host: PlainClient, plane: PlainClient, wish: Wish, pause: Pause, *, is_purge: bool
) -> Iterator[tuple[PlainClient, Iterator[Change]]]:
    """All that is to be done, in its order, each with whom it is done to; they may be the same."""
    space, is_one = wish.namespace, plane is host
    yield plane, _unregister(plane, space)
    yield host, _stop(host, wish, pause)
    # A replica that was still there may have registered anew.
    yield plane, _unregister(plane, space)
    made = installation.Installation(
        namespace=space, with_service_monitor=True, plane=None if is_one else installation.Plane("")
    )
    yield host, _clear(host, space, everything(made))
    if not is_one:
        yield plane, _clear(plane, space, everything_on_plane(made))
    if is_purge:
        yield plane, purge(plane, wish, pause)
    for each in (host,) if is_one else (host, plane):
        yield each, _remove_home(each, space)


def _stop(host: PlainClient, wish: Wish, pause: Pause) -> Iterator[Change]:
    """Take away the replicas, and wait for their end."""
    yield from _drop(host, DEPLOYMENTS, installation.NAME, wish.namespace)
    left: list[str] = []
    for _ in tries(wish.wait_s, _STEP_S, pause):
        left = [each["metadata"]["name"] for each in host.list(PODS, wish.namespace, OURS)]
        if not left:
            return
    for name in left:
        yield Change(f"pod/{name}", "still ends")


def _clear(host: PlainClient, namespace: str, made: Sequence[Wire]) -> Iterator[Change]:
    """Take away what was made, and what replicas made, but for their home."""
    for wire in reversed(made):
        if wire["kind"] == NAMESPACES.kind:
            continue
        metadata, collection = wire["metadata"], COLLECTIONS[wire["kind"]]
        yield from _drop(host, collection, metadata["name"], metadata.get("namespace", ""))
    yield from _drop(host, COLLECTIONS["Service"], OUTSIDE, namespace)
    for name in (installation.SERVING_SECRET, installation.PLANE_SECRET, installation.METRICS):
        yield from _drop(host, SECRETS, name, namespace)


def _remove_home(host: PlainClient, namespace: str) -> Iterator[Change]:
    """Take away, last of all, where the replicas found each other and where they lived."""
    yield from _drop(host, LEASES, LEASE, namespace)
    yield from _drop_namespace(host, namespace)


def _unregister(host: PlainClient, namespace: str) -> Iterator[Change]:
    """Let the host ask us nothing any more."""
    for path, wire in registrations(Registration(Place(namespace))):
        found = host.find(path)
        if found is not None and not _is_others(found):
            yield from _delete(host, path, found, wire)
    for path, wire in definitions():
        if len(wire["spec"]["versions"]) == 1:
            continue
        found = host.find(path)
        conversion = found["spec"].get("conversion") if found else None
        if conversion and conversion["strategy"] == "Webhook":
            host.patch(path, {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
            yield Change(title_of(wire), "no longer converted")


def _is_others(found: Wire) -> bool:
    """Whether an API of ours is served by another program."""
    service = found["spec"].get("service") or {} if found["kind"] == API_SERVICES.kind else {}
    return service.get("name", installation.NAME) not in (installation.NAME, OUTSIDE)


def _drop(
    host: PlainClient, collection: Collection, name: str, namespace: str = ""
) -> Iterator[Change]:
    path = collection.path(namespace, name)
    found = host.find(path)
    if found is not None and "deletionTimestamp" not in found["metadata"]:
        head = {"apiVersion": collection.api_version, "kind": collection.kind}
        yield from _delete(host, path, found, {**head, "metadata": found["metadata"]})


def _delete(host: PlainClient, path: str, found: Wire, told: Mapping[str, Any]) -> Iterator[Change]:
    try:
        host.delete(path, found["metadata"]["uid"])
    except Missing:
        return
    yield Change(title_of(dict(told)), "deleted")


def _drop_namespace(host: PlainClient, namespace: str) -> Iterator[Change]:
    """Only if nobody but us has had a hand in it."""
    found = host.find(NAMESPACES.path(name=namespace))
    if found is None or "deletionTimestamp" in found["metadata"]:
        return
    writers = {each.get("manager") for each in found["metadata"].get("managedFields") or ()}
    tenants = {each["metadata"]["name"] for each in host.list(ACCOUNTS, namespace)} - {"default"}
    if (is_ours(found) or (writers and writers <= _MANAGERS)) and not tenants:
        yield from _drop(host, NAMESPACES, namespace)
    else:
        yield Change(f"namespace/{namespace}", "kept, as it is not ours alone")


# What users have.


def purge(host: PlainClient, wish: Wish, pause: Pause) -> Iterator[Change]:
    """Delete every object of our kinds, and the kinds; UsageError while somebody acts on them."""
    leader = _leader(host, wish.namespace, pause)
    if leader:
        # It would take back from the clusters what goes from here.
        raise UsageError(f"nothing was purged: {leader} still leads; stop it first")
    records = _listed(host, RECORDS)
    for path, wire in definitions():
        found = host.find(path)
        if found is not None:
            # First, for a host that finds objects held comes back for them only after minutes.
            _try_to_let_go(host, wire)
            yield from _delete(host, path, found, wire)
    yield from _see_them_go(host, wish.wait_s, pause)
    for each in records:
        yield from _drop(host, NAMESPACES, names.execution_namespace(each["metadata"]["name"]))
    space = names.CLUSTER_NAMESPACE
    if host.find(NAMESPACES.path(name=space)) is not None:
        others = clear_namespace(host, space)
        yield Change(f"namespace/{space}", "kept, as it is not ours alone" if others else "deleted")
    yield from _drop_namespace(host, names.SYSTEM_NAMESPACE)


def _leader(host: PlainClient, namespace: str, pause: Pause) -> str:
    """Who renews the Lease; nobody if it stays as it is for as long as it is good for."""
    path, waited_s = LEASES.path(namespace, LEASE), 0.0
    first = (host.find(path) or {}).get("spec") or {}
    while first.get("holderIdentity") and waited_s < first.get("leaseDurationSeconds", 0):
        pause(_STEP_S)
        waited_s += _STEP_S
        now = (host.find(path) or {}).get("spec") or {}
        if now.get("holderIdentity") and now.get("renewTime") != first.get("renewTime"):
            return str(now["holderIdentity"])
    return ""


def _see_them_go(host: PlainClient, wait_s: float, pause: Pause) -> Iterator[Change]:
    """Wait until the kinds are gone, with all of their objects."""
    left: list[Wire] = []
    for _ in tries(wait_s, _STEP_S, pause):
        left = [wire for path, wire in definitions() if host.find(path) is not None]
        for wire in left:
            _try_to_let_go(host, wire)
        if not left:
            return
    for each in left:
        yield Change(title_of(each), "still has objects that others hold")


def _try_to_let_go(host: PlainClient, definition: Wire) -> None:
    """Let go of a kind's objects; a host that forgets the kind meanwhile may be at a loss."""
    try:
        _let_go(host, definition)
    except Refused as refused:
        if not refused.may_pass:
            raise


def _let_go(host: PlainClient, definition: Wire) -> None:
    """Take our own finalizers off all objects of a kind."""
    spec = definition["spec"]
    (version,) = (each["name"] for each in spec["versions"] if each["storage"])
    collection = Collection(
        f"{spec['group']}/{version}",
        spec["names"]["kind"],
        spec["names"]["plural"],
        namespaced=spec["scope"] == "Namespaced",
    )
    for each in _listed(host, collection):
        held = each["metadata"].get("finalizers") or []
        rest = [name for name in held if name not in _FINALIZERS]
        if rest != held:
            changes = {"finalizers": rest, "resourceVersion": each["metadata"]["resourceVersion"]}
            with suppress(Missing, Stale):  # gone by itself, or looked at again
                host.patch(collection.path_of(each), {"metadata": changes})
