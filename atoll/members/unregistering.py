"""Letting a cluster go whose agent comes to the plane: its rights go last, and its home after that.

Clients and a wish come in; what is left, and where, goes out, in lines for the user. The agent
takes back what it delivered, as policies say, while it still may. One that is dead is waited for
until the plane sees it; then what it delivered stays. A cluster that registered, and whose agent
never came, may be let go as well.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from atoll.client.collection import Collection
from atoll.client.plain import PlainClient
from atoll.client.refusals import Refused
from atoll.client.transport import Unreachable
from atoll.dialects.karmada import names
from atoll.errors import UsageError
from atoll.members import unjoining
from atoll.members.agent_home import parts_of
from atoll.members.agent_rights import rights
from atoll.members.objects import CLUSTERS, NAMESPACES, plane_identity
from atoll.members.patience import Pause
from atoll.wire import Wire

LEASES = Collection("coordination.k8s.io/v1", "Lease", "leases", namespaced=True)


def find(plane: PlainClient, name: str) -> Wire | None:
    """The Cluster that registered by this name and may be let go, None if its agent never came.

    UsageError if nobody registered by it, or the cluster has no agent.
    """
    cluster = plane.find(CLUSTERS.path(name=name))
    if cluster is None:
        collection, role, _ = next(rights(name, ""))
        if plane.request("GET", collection.path_of(role)).status == 404:
            raise UsageError(f'there is no cluster "{name}" in the plane')
    elif (cluster.get("spec") or {}).get("syncMode") != "Pull":
        raise UsageError(f'cluster "{name}" has no agent, so it leaves by: atoll unjoin {name}')
    return cluster


def unregister(
    plane: PlainClient,
    member: PlainClient | None,
    wish: unjoining.Wish,
    home: str,
    pause: Pause,
    *,
    now: Callable[[], datetime],
) -> unjoining.Parting:
    """Have the plane forget a cluster and its agent's rights; in the member, its agent's home."""
    cluster, parting = find(plane, wish.name), unjoining.Parting(is_gone=True)
    if cluster is not None:
        if member is not None:
            unjoining.confirm(cluster, member)
        unjoining.let_go(plane, cluster, wish, pause, parting)
        if _is_silent(plane, wish.name, now()):
            told = "its agent does not report; what it delivered stays in the cluster"
            parting.notes.append(told)
    if not parting.is_gone:
        # The agent needs its rights for as long as it takes things back.
        parting.notes += unjoining.in_the_plane(plane, wish.name)
        return parting
    parting.notes += _withdraw(plane, wish)
    parting.notes += _clear_home(member, wish, home, plane_identity(plane))
    return parting


def _is_silent(plane: PlainClient, name: str, now: datetime) -> bool:
    """Whether an agent has not shown for longer than its Lease is good for that it lives."""
    try:
        spec = plane.get(LEASES.path(names.CLUSTER_NAMESPACE, name)).get("spec") or {}
        renewed = datetime.fromisoformat(spec["renewTime"])
        return (now - renewed).total_seconds() > float(spec["leaseDurationSeconds"])
    except (Refused, LookupError, TypeError, ValueError):
        return True


def _withdraw(plane: PlainClient, wish: unjoining.Wish) -> list[str]:
    """Take an agent's rights away; gives what of them is left."""
    left = []
    for collection, wire, _ in rights(wish.name, wish.namespace):
        if not unjoining.remove(plane, collection.path_of(wire)):
            left.append(f"{collection.kind} {wire['metadata']['name']}")
    with suppress(Refused, Unreachable):
        plane.delete(LEASES.path(names.CLUSTER_NAMESPACE, wish.name))
    # Where no agent ever came, nobody else does it.
    unjoining.remove(plane, NAMESPACES.path(name=names.execution_namespace(wish.name)))
    return unjoining.still("plane", left)


def _clear_home(
    member: PlainClient | None, wish: unjoining.Wish, home: str, plane: str
) -> list[str]:
    """Remove what registering and the agent made in a member; gives what is left there."""
    parts = parts_of(home)
    if member is None:
        return unjoining.still("cluster", [*parts.values(), f"Namespace {home}"])
    left = [what for path, what in parts.items() if not unjoining.remove(member, path)]
    left += [] if left else unjoining.clear_namespace(member, home)
    return unjoining.still("cluster", left) + unjoining.clear(member, wish, plane)
