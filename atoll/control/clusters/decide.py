"""A member cluster from joining to leaving: its execution space, its finalizer, and its silence.

Comes in: a Cluster, what there is of it in the plane, why there is no way to it, when there was
last news of it. Goes out: what to write in the plane. How clusters are reached, and how they are,
is not known here; of a cluster that is pulled from, its Lease tells that it lives.
"""

from dataclasses import dataclass

from atoll.config import Times
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects.encoding import patched
from atoll.dialects.kubernetes import conditions
from atoll.dialects.kubernetes.conditions import Condition
from atoll.model.action import NOTHING, Action, Create, Delete, Plan, Tell, Update
from atoll.model.member import Member
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work
from atoll.wire import Object

READY = "Ready"
_NO_WAY = "StatusCollectionFailed"
_NEVER = Condition(
    READY,
    None,
    "ClusterStatusNeverUpdated",
    "Cluster status controller never posted cluster status.",
)
_NO_MORE = Condition(
    READY,
    None,
    "ClusterStatusUnknown",
    "Cluster status controller stopped posting cluster status.",
)


@dataclass(frozen=True, slots=True)
class News:
    """The last that was heard of a cluster, and when; `ready` is its condition."""

    ready: Object | None
    renewed: str
    at: float


@dataclass(frozen=True, slots=True)
class SeenCluster:
    """A Cluster and what is known of it.

    `space` is its execution namespace; `is_needed`, whether something in it may yet find another
    place; `trouble` says why it cannot be reached from here, empty if it can, or need not. `works`
    are what an agent has to take back before its rights go with the space.
    """

    cluster: Member
    space: Object | None
    news: News
    is_needed: bool = False
    trouble: str = ""
    works: tuple[Work, ...] = ()


def heard(before: News | None, cluster: Member, lease: Object | None, now: float) -> News:
    """What was heard last, by what is seen now: a changed condition or a renewed Lease is news."""
    ready = conditions.find(cluster.conditions, READY)
    renewed = ((lease or {}).get("spec") or {}).get("renewTime") or ""
    if before is None:
        is_known = ready is not None or renewed
        made = cluster.meta.created
        return News(ready, renewed, now if is_known or made is None else made)
    if ready != before.ready or renewed > before.renewed:
        return News(ready, max(renewed, before.renewed), now)
    return before


def targets(binding: ResourceBinding) -> list[str]:
    """The clusters that a binding names."""
    return [each.name for each in binding.spec.clusters]


def may_move(binding: ResourceBinding, cluster: str) -> bool:
    """Whether what a binding has in a cluster that leaves may yet find another place.

    So it is until the scheduler has said no, and from its yes on until all has arrived elsewhere.
    """
    if binding.meta.is_going:
        return False
    scheduled = conditions.find(binding.status.conditions, "Scheduled")
    is_refused = scheduled is not None and scheduled.get("status") == "False"
    return cluster not in targets(binding) or not is_refused


def plan(seen: SeenCluster, now: float, times: Times) -> Plan:
    """What to do next for a cluster."""
    is_leaving = seen.cluster.meta.is_going
    if is_leaving and not seen.cluster.spec.is_pulled:
        return _let_go(seen, now, times)
    fresh, again_in = _found(seen, now, times)
    if is_leaving:
        if fresh is not None:
            # Nobody waits for an agent that is dead to take back what it delivered.
            return Plan(tuple(_tell(seen.cluster, fresh, now)))
        return _sooner(_let_go(seen, now, times), again_in)
    actions = [*_make_space(seen), *_hold(seen.cluster)]
    if fresh is not None and not actions:
        actions += _tell(seen.cluster, fresh, now)
    return Plan(tuple(actions), again_in)


def _sooner(found: Plan, again_in: float | None) -> Plan:
    """A plan after which one looks again no later than so."""
    spans = [each for each in (found.again_in, again_in) if each is not None]
    return Plan(found.actions, min(spans)) if spans else found


def _make_space(seen: SeenCluster) -> list[Action]:
    """Where the Works of a cluster are kept. One that is on its way out must be gone first."""
    if seen.space is not None:
        return []
    name = seen.cluster.name
    space = names.execution_namespace(name)
    wire = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": space, "labels": {names.SYSTEM: "true"}},
    }
    made = f"Created execution space({space}) for cluster({name})."
    return [Create(wire), Tell(seen.cluster.wire, "CreateExecutionSpaceSucceed", made)]


def _hold(cluster: Member) -> list[Action]:
    finalizers = cluster.meta.finalizers
    if names.CLUSTER_FINALIZER in finalizers:
        return []
    return [_with_finalizers(cluster, [*finalizers, names.CLUSTER_FINALIZER])]


def _let_go(seen: SeenCluster, now: float, times: Times) -> Plan:
    """First what runs there moves; then the space goes with all Works; then the cluster may.

    Of a cluster that pulls, Works go before the space: the rights of its agent are kept in there.

    Whoever removes a cluster wants it gone: what finds no other place in time goes with it.
    """
    cluster, space = seen.cluster, seen.space
    if space is not None and space["metadata"].get("deletionTimestamp"):
        return NOTHING
    since = cluster.meta.deleted
    left_s = (now if since is None else since) + times.graceful_eviction_timeout - now
    if seen.is_needed and left_s > 0:
        return Plan(again_in=left_s)
    if seen.works:
        staying = (each for each in seen.works if not each.meta.is_going)
        return Plan(tuple(Delete.of(each.wire) for each in staying))
    if space is not None:
        return Plan((Delete.of(space),))
    finalizers = cluster.meta.finalizers
    if names.CLUSTER_FINALIZER not in finalizers:
        return NOTHING
    left = [each for each in finalizers if each != names.CLUSTER_FINALIZER]
    gone = f"Removed execution space for cluster({cluster.name})."
    told = Tell(cluster.wire, "RemoveExecutionSpaceSucceed", gone)
    return Plan((told, _with_finalizers(cluster, left)))


def _with_finalizers(cluster: Member, finalizers: list[str]) -> Update:
    return Update(patched(cluster.wire, {"metadata": {"finalizers": finalizers}}))


def _found(seen: SeenCluster, now: float, times: Times) -> tuple[Condition | None, float | None]:
    """What is to be said of a cluster that says nothing itself, and when to look again."""
    if seen.trouble:
        return Condition(READY, False, _NO_WAY, seen.trouble), None
    ready = conditions.find(seen.cluster.conditions, READY)
    if ready is not None and not seen.cluster.spec.is_pulled:
        return None, None
    grace_s = times.cluster_monitor_grace_period
    if ready is None:
        grace_s = times.cluster_startup_grace_period
    left_s = seen.news.at + grace_s - now
    if left_s > 0:
        return None, left_s
    if ready is None:
        return _NEVER, None
    return (None if ready.get("status") == "Unknown" else _NO_MORE), None


def _tell(cluster: Member, fresh: Condition, now: float) -> list[Action]:
    stated = conditions.stated(cluster.conditions, fresh, now)
    if tuple(stated) == cluster.conditions:
        return []
    return [Update(patched(cluster.wire, {"status": {"conditions": stated}}), "status")]
