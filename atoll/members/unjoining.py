"""Letting a member cluster go: out of the plane, and what the plane had in it.

Clients and a wish come in; what is left, and where, goes out, in lines for the user. The plane does
its own part: it takes back what it delivered, as its policies say. Nobody is waited for longer than
wished, and a member that does not answer is not waited for at all.
"""

from contextlib import closing, suppress
from dataclasses import dataclass, field, replace

from atoll.client.collection import Collection
from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing, Refused, Stale
from atoll.client.transport import Unreachable
from atoll.dialects.karmada import names
from atoll.dialects.karmada.cluster_access import secret_of
from atoll.errors import UsageError
from atoll.members import objects
from atoll.members.granting import release
from atoll.members.patience import Pause, tries
from atoll.members.ways import endpoint
from atoll.wire import Wire

WORKS = Collection("work.karmada.io/v1alpha1", "Work", "works", namespaced=True)
PROBE_S = 5.0
_STEP_S = 0.5
# For one that is not there, the plane itself needs no longer than this.
GONE_WAIT_S = 10.0
# Tried so often to take a finalizer off that somebody else writes to at the same time.
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Wish:
    """Which cluster is to go, and how much patience there is."""

    name: str
    namespace: str = names.CLUSTER_NAMESPACE
    wait_s: float = 60.0
    is_forced: bool = False


@dataclass(slots=True)
class Parting:
    """How far it came: whether the plane has forgotten the cluster, and what there is to say."""

    is_gone: bool = False
    notes: list[str] = field(default_factory=list)


def find(plane: PlainClient, name: str) -> Wire:
    """The Cluster of a name that may be let go; UsageError if there is none, or it has an agent."""
    try:
        cluster = plane.get(objects.CLUSTERS.path(name=name))
    except Missing as error:
        raise UsageError(f'there is no cluster "{name}" in the plane') from error
    if (cluster.get("spec") or {}).get("syncMode") == "Pull":
        raise UsageError(f'cluster "{name}" has an agent, so it leaves by: atoll unregister {name}')
    return cluster


def confirm(cluster: Wire, member: PlainClient) -> None:
    """UsageError if a client that answers speaks to another cluster than this one."""
    name, expected = cluster["metadata"]["name"], (cluster.get("spec") or {}).get("id")
    try:
        found = objects.identity(member)
    except (Refused, Unreachable):
        return
    if expected and found != expected:
        raise UsageError(f'{member.endpoint} is not cluster "{name}"; nothing was done')


def unjoin(plane: PlainClient, member: PlainClient | None, wish: Wish, pause: Pause) -> Parting:
    """Have the plane forget a cluster, and clear away in the member what joining made there."""
    cluster = find(plane, wish.name)
    if member is not None:
        confirm(cluster, member)
    parting = Parting()
    answers = _answers(member or _known_way(plane, cluster))
    if not answers:
        where = (cluster.get("spec") or {}).get("apiEndpoint") or "the cluster"
        parting.notes.append(
            f"{where} does not answer; what the plane cannot take back stays there"
        )
    patient = wish if answers else replace(wish, wait_s=min(wish.wait_s, GONE_WAIT_S))
    let_go(plane, cluster, patient, pause, parting)
    if parting.is_gone:
        parting.notes += clear(member if answers else None, wish, objects.plane_identity(plane))
    else:
        # The plane needs its account in the member for as long as it takes things back.
        parting.notes += in_the_plane(plane, wish.name)
    return parting


def let_go(plane: PlainClient, cluster: Wire, wish: Wish, pause: Pause, parting: Parting) -> None:
    """Delete a Cluster, and note whether the plane has forgotten it, by force if that is wished."""
    plane.delete(objects.CLUSTERS.path(name=wish.name), cluster["metadata"]["uid"])
    parting.is_gone = wait_gone(plane, cluster, wish.wait_s, pause)
    if not parting.is_gone and wish.is_forced:
        parting.notes += force(plane, wish.name)
        parting.is_gone = wait_gone(plane, cluster, GONE_WAIT_S, pause)


def _known_way(plane: PlainClient, cluster: Wire) -> PlainClient | None:
    """The member as the plane itself reaches it; None if that cannot be said."""
    named = secret_of(cluster)
    if named is None:
        return None
    try:
        secret = plane.get(objects.SECRETS.path(named.namespace, named.name))
        return PlainClient(endpoint(cluster, secret), PROBE_S)
    except (Refused, UsageError):
        return None


def _answers(member: PlainClient | None) -> bool:
    """Whether somebody is there; that they may want to know more of us is no matter."""
    if member is None:
        return False
    with closing(PlainClient(member.endpoint, PROBE_S)) as probe:
        try:
            return probe.request("GET", "/readyz").status < 500
        except (Unreachable, UsageError):
            return False


# In the plane.


def wait_gone(plane: PlainClient, cluster: Wire, wait_s: float, pause: Pause) -> bool:
    """Wait until the plane has forgotten a cluster; gives whether it has."""
    for _ in tries(wait_s, _STEP_S, pause):
        found = plane.find(objects.CLUSTERS.path_of(cluster))
        if found is None or found["metadata"]["uid"] != cluster["metadata"]["uid"]:
            return True
    return False


def force(plane: PlainClient, name: str) -> list[str]:
    """Take off what holds a cluster in the plane, from the inside out."""
    space = names.execution_namespace(name)
    works = plane.list(WORKS, space)
    with suppress(Missing):
        # First of all, or what is let loose might be taken hold of again.
        plane.delete(objects.NAMESPACES.path(name=space))
    for work in works:
        _let_loose(plane, WORKS.path_of(work), names.EXECUTION_FINALIZER)
    _let_loose(plane, objects.CLUSTERS.path(name=name), names.CLUSTER_FINALIZER)
    return [f"forgotten without being taken back: {deliveries(len(works))}"] if works else []


def _let_loose(plane: PlainClient, path: str, finalizer: str) -> None:
    for _ in range(_ATTEMPTS):
        try:
            metadata = plane.get(path)["metadata"]
            held = metadata.get("finalizers") or []
            if finalizer not in held:
                return
            rest = [each for each in held if each != finalizer]
            version = metadata["resourceVersion"]
            plane.patch(path, {"metadata": {"finalizers": rest, "resourceVersion": version}})
            return
        except Stale:
            continue
        except Missing:
            return


def in_the_plane(plane: PlainClient, name: str) -> list[str]:
    """What of a cluster is still there."""
    space = names.execution_namespace(name)
    works = plane.list(WORKS, space)
    held = f", with {deliveries(len(works))} in {space}" if works else ""
    return [f'Cluster "{name}" is still in the plane{held}; it goes when the plane is done with it']


def deliveries(count: int) -> str:
    """So many Works, in the user's word for them."""
    return "1 delivery" if count == 1 else f"{count} deliveries"


# In the member.


def clear(member: PlainClient | None, wish: Wish, plane: str) -> list[str]:
    """Remove what joining made in a member; gives what is left there."""
    role, space, account = objects.role_of(wish.name), wish.namespace, objects.account_of(wish.name)
    parts = {
        objects.ROLE_BINDINGS.path(name=role): f"ClusterRoleBinding {role}",
        objects.ROLES.path(name=role): f"ClusterRole {role}",
        objects.ACCOUNTS.path(space, account): f"ServiceAccount {space}/{account}",
    }
    try:
        needed = "" if member is None else release(member, space, account, plane)
    except (Refused, Unreachable) as error:
        needed = str(error)
    if needed:
        return still("cluster", [f"{', '.join(parts.values())}; {needed}"])
    left = [what for path, what in parts.items() if member is None or not remove(member, path)]
    if member is None or not left:
        left += clear_namespace(member, space)
    return still("cluster", left)


def still(where: str, left: list[str]) -> list[str]:
    """The line that tells what is left somewhere, if anything is."""
    return [f"in the {where} there is still: {', '.join(left)}"] if left else []


def clear_namespace(member: PlainClient | None, space: str) -> list[str]:
    """Remove the namespace too, unless another plane has an account in it."""
    if member is None:
        return [f"Namespace {space}"]
    try:
        others = [each["metadata"]["name"] for each in member.list(objects.ACCOUNTS, space)]
        labels = member.get(objects.NAMESPACES.path(name=space))["metadata"].get("labels") or {}
    except Missing:
        return []
    except (Refused, Unreachable):
        return [f"Namespace {space}"]
    strangers = [name for name in others if name not in (objects.IMPERSONATOR, "default")]
    if strangers or labels.get(names.SYSTEM) != "true":
        return [f"Namespace {space}, which is not ours alone"]
    return [] if remove(member, objects.NAMESPACES.path(name=space)) else [f"Namespace {space}"]


def remove(member: PlainClient, path: str) -> bool:
    try:
        member.delete(path)
    except Missing:
        return True
    except (Refused, Unreachable):
        return False
    return True
