"""How things stand with members, queues and evictions, as numbers; looked at when somebody asks.

The hub comes in, families for Prometheus go out, under Karmada's and Kubernetes' names where they
mean the same. A member that has left is not there to be looked at, and so has no numbers.
"""

from collections import Counter as Counts
from collections.abc import Callable, Iterator

from atoll.control.hub import Hub
from atoll.dialects.karmada.objects import kinds
from atoll.instruments.families import Family, Sample
from atoll.model import quantity
from atoll.model.member import Member
from atoll.model.resource_binding import ResourceBinding
from atoll.wire import Object

Value = Callable[[Member], float | None]
"""What a cluster's status says of something; None if it says nothing."""

_MEMBER = "member_cluster"


def families(hub: Hub) -> Iterator[Family]:
    """All numbers of a plane's controllers, or of an agent's."""
    yield from hub.numbers.families()
    yield from hub.turns.tallies.families()
    for more in hub.more_numbers:
        yield from more()
    yield from _queues(hub)
    yield from _clusters(hub)
    yield from _ways(hub)
    yield from _evictions(hub)


def _queues(hub: Hub) -> Iterator[Family]:
    depths = hub.turns.depths()
    samples: list[Sample] = [("", (("name", name),), count) for name, count in depths.items()]
    yield "workqueue_depth", "gauge", "Keys that wait now, by worklist.", samples
    waiting = depths.get("eviction", 0)
    told = "Bindings that wait to have their evictions looked at."
    yield "eviction_queue_depth", "gauge", told, [("", (("name", "eviction"),), waiting)]


def _clusters(hub: Hub) -> Iterator[Family]:
    found = hub.plane.values(kinds.CLUSTER)
    for name, told, value in _OF_CLUSTERS:
        samples: list[Sample] = []
        for each in found:
            known = value(each)
            if known is not None:
                samples.append(("", ((_MEMBER, each.name),), known))
        yield name, "gauge", told, samples


def _nodes(which: str) -> Value:
    def value(member: Member) -> float | None:
        known = (_status(member).get("nodeSummary") or {}).get(which)
        return None if known is None else float(known)

    return value


def _summed(part: str, resource: str) -> Value:
    def value(member: Member) -> float | None:
        summary = _status(member).get("resourceSummary")
        if summary is None:
            return None
        return float(quantity.parse((summary.get(part) or {}).get(resource)) or 0)

    return value


def _status(member: Member) -> Object:
    """What is told of a member for people; only numbers are made of it."""
    return member.wire.get("status") or {}


_OFFERED, _TAKEN = "allocatable", "allocated"
_OF_CLUSTERS: tuple[tuple[str, str, Value], ...] = (
    (
        "cluster_ready_state",
        "Whether a member is ready (1) or not (0).",
        lambda each: float(each.is_ready),
    ),
    ("cluster_node_number", "Nodes of a member.", _nodes("totalNum")),
    ("cluster_ready_node_number", "Nodes of a member that are ready.", _nodes("readyNum")),
    ("cluster_cpu_allocatable_number", "Processors it has for pods.", _summed(_OFFERED, "cpu")),
    ("cluster_cpu_allocated_number", "Processors that its pods have.", _summed(_TAKEN, "cpu")),
    ("cluster_memory_allocatable_bytes", "Memory it has for pods.", _summed(_OFFERED, "memory")),
    ("cluster_memory_allocated_bytes", "Memory that its pods have.", _summed(_TAKEN, "memory")),
    ("cluster_pod_allocatable_number", "Pods it has room for in all.", _summed(_OFFERED, "pods")),
    ("cluster_pod_allocated_number", "Pods that it has.", _summed(_TAKEN, "pods")),
)


def _ways(hub: Hub) -> Iterator[Family]:
    silent: list[Sample] = []
    asked: list[Sample] = []
    for name, way in hub.ways().items():
        silent.append(("", ((_MEMBER, name),), float(way.is_silent)))
        for (method, code), count in way.answers.items():
            labels = (("code", code), ("host", name), ("method", method))
            asked.append(("", labels, count))
    lags: list[Sample] = [
        ("", ((_MEMBER, name),), site.lag_s()) for name, site in hub.sites.items()
    ]
    told = "How long it took to be told of what was written there, or takes; no name: the plane."
    yield "atoll_mirror_lag_seconds", "gauge", told, lags
    told = "Whether a member does not answer (1), so that it is asked by one at a time only."
    yield "atoll_cluster_silent", "gauge", told, silent
    told = "Requests to members, by method and code; the host is the name of the member."
    yield "rest_client_requests_total", "counter", told, asked


def _evictions(hub: Hub) -> Iterator[Family]:
    leaving: Counts[tuple[str, str]] = Counts()
    for binding in hub.bindings(_has_tasks, True):
        for task in binding.spec.evictions:
            leaving[task.cluster, binding.spec.template.kind] += 1
    samples: list[Sample] = [
        ("", ((_MEMBER, cluster), ("resource_kind", kind)), count)
        for (cluster, kind), count in leaving.items()
    ]
    told = "Workloads on their way out of a member, by kind."
    yield "eviction_kind_total", "gauge", told, samples


def _has_tasks(binding: ResourceBinding) -> tuple[bool, ...]:
    return (True,) if binding.spec.evictions else ()
