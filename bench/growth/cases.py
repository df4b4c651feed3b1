"""What the growth bench fills a plane with, and what it then changes.

A shape says what there is, so many times; a change, what happens to a little of it, and to how many
things. All that is there otherwise is to cost nothing.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from atoll.control.hub import CLUSTER
from atoll.model.action import Ref
from bench.growth import objects
from bench.growth.objects import POLICY, Object
from bench.growth.plane import Bench

TWO = ("cluster-0", "cluster-1")
TEN = tuple(f"cluster-{each}" for each in range(10))
FAR = tuple(f"far-{each}" for each in range(10))
"""Clusters that no policy chooses, where nothing runs."""
AT_ONCE = 10
MADE_AT_ONCE = 50
_FEW = 20

Build = Callable[[Bench, int], Awaitable[None]]
Do = Callable[[Bench, int, int], Awaitable[int]]
"""In a plane of this size, in this round; how many things were changed."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What there is so many times, and how it changes; `sizes` are those that tell the most.

    A change that makes more of what is counted comes last.
    """

    build: Build
    changes: Mapping[str, Do]
    sizes: tuple[int, ...] = (100, 300, 1_000)


def space(number: int) -> str:
    return f"space-{number}"


def web(number: int) -> str:
    return f"web-{number}"


async def _alike(bench: Bench, size: int) -> None:
    await bench.join((*TWO, *FAR))
    await bench.make([objects.policy("all", "default", TWO)])
    await bench.make(objects.deployment(web(each), "default") for each in range(size))


async def _apart(bench: Bench, size: int, *, divided: bool) -> None:
    await bench.join((*TWO, *FAR))
    await bench.make([objects.policy("all", "", TWO, divided=divided)])
    await bench.make(objects.namespace(space(each)) for each in range(size))
    await bench.settle()
    await bench.make(objects.deployment(web(each), space(each)) for each in range(size))


async def _policies(bench: Bench, size: int) -> None:
    await bench.join((*TWO, *FAR))
    await bench.make(
        objects.policy(web(each), "default", TWO, only=web(each)) for each in range(size)
    )
    await bench.make(
        objects.deployment(web(each), "default", policy=web(each)) for each in range(size)
    )


async def _overrides(bench: Bench, size: int) -> None:
    await bench.make(objects.override(web(each), "default", web(each), "0") for each in range(size))
    await _alike(bench, size)


async def _namespaces(bench: Bench, size: int) -> None:
    await bench.join(TEN)
    await bench.make(objects.namespace(space(each)) for each in range(size))


async def _clusters(bench: Bench, size: int) -> None:
    await bench.join([f"cluster-{each}" for each in range(size)])
    await bench.make([objects.policy("all", "default", TWO, divided=True)])
    await bench.make(objects.deployment(web(each), "default") for each in range(_FEW))


def _some(size: int, turn: int, count: int = AT_ONCE) -> list[int]:
    """Others in each round, as far as there are."""
    return [(turn * count + each) % size for each in range(min(count, size))]


async def _made(bench: Bench, size: int, turn: int, spaces: str = "default") -> int:
    """More Deployments, each in the namespace and with the policy of another one."""
    picked = _some(size, turn, MADE_AT_ONCE)
    await bench.make(
        objects.deployment(f"more-{turn}-{each}", spaces.format(each), policy=web(each))
        for each in picked
    )
    return len(picked)


async def _relabelled(bench: Bench, size: int, turn: int) -> int:
    """Deployments get another label, which no policy asks for."""
    refs = [Ref("apps/v1", "Deployment", "default", web(each)) for each in _some(size, turn)]
    await bench.change(refs, partial(_labelled, turn))
    return len(refs)


async def _scaled(bench: Bench, size: int, turn: int, spaces: str = "default") -> int:
    """Deployments get a replica more."""
    picked = _some(size, turn)
    refs = [Ref("apps/v1", "Deployment", spaces.format(each), web(each)) for each in picked]

    def more(wire: Object) -> Object:
        return {**wire, "spec": {**wire["spec"], "replicas": wire["spec"]["replicas"] + 1}}

    await bench.change(refs, more)
    return len(refs)


async def _policy_changed(bench: Bench, size: int, turn: int) -> int:
    """Policies, each of one Deployment, choose one cluster, then both again."""
    picked = _some(size, turn // 2)
    refs = [Ref(POLICY, "PropagationPolicy", "default", web(each)) for each in picked]

    def to(wire: Object) -> Object:
        names = list(TWO if turn % 2 else TWO[:1])
        placement = wire["spec"]["placement"]
        affinity = {**placement["clusterAffinity"], "clusterNames": names}
        placement = {**placement, "clusterAffinity": affinity}
        return {**wire, "spec": {**wire["spec"], "placement": placement}}

    await bench.change(refs, to)
    return len(refs)


async def _policy_for_nothing(bench: Bench, _size: int, turn: int) -> int:
    """Policies are made that mean nothing that is there."""
    named = [f"nothing-{turn}-{each}" for each in range(AT_ONCE)]
    await bench.make(objects.policy(each, "default", TWO, only=each) for each in named)
    return AT_ONCE


async def _override_changed(bench: Bench, size: int, turn: int) -> int:
    """Overrides, each of one Deployment, ask for something else."""
    picked = _some(size, turn)
    refs = [Ref(POLICY, "OverridePolicy", "default", web(each)) for each in picked]

    def to(wire: Object) -> Object:
        said = objects.override("", "default", wire["metadata"]["name"], f"turn-{turn}")
        return {**wire, "spec": {**wire["spec"], "overrideRules": said["spec"]["overrideRules"]}}

    await bench.change(refs, to)
    return len(refs)


async def _namespace_labelled(bench: Bench, size: int, turn: int) -> int:
    """Namespaces get another label, which every cluster is to know."""
    refs = [Ref("v1", "Namespace", "", space(each)) for each in _some(size, turn)]
    await bench.change(refs, partial(_labelled, turn))
    return len(refs)


async def _namespace_overridden(bench: Bench, size: int, turn: int) -> int:
    """Cluster-wide overrides are made, each of one namespace."""
    picked = _some(size, turn)
    await bench.make(
        objects.override(f"{space(each)}-{turn}", "", space(each), str(turn)) for each in picked
    )
    return len(picked)


async def _far_labelled(bench: Bench, _size: int, turn: int) -> int:
    """Clusters that nobody goes to get another label."""
    await bench.change(
        [Ref(CLUSTER, "Cluster", "", each) for each in FAR], partial(_labelled, turn)
    )
    return len(FAR)


async def _far_lost(bench: Bench, _size: int, turn: int) -> int:
    """Clusters that nobody goes to are not ready any more, or ready again: tainted, or not."""
    await bench.report(FAR, 0, ready=turn % 2 == 1)
    return len(FAR)


async def _far_priced(bench: Bench, _size: int, turn: int) -> int:
    """Clusters that nobody goes to cost something else."""
    if not turn:
        await bench.make(objects.cluster_price(each, 1) for each in FAR)
    refs = [Ref(objects.PRICE, "ClusterPrice", "", each) for each in FAR]
    await bench.change(refs, lambda wire: {**wire, "spec": _price_of(wire, turn)["spec"]})
    return len(FAR)


def _price_of(wire: Object, turn: int) -> Object:
    return objects.cluster_price(wire["metadata"]["name"], turn + 1)


async def _priority_class(bench: Bench, _size: int, turn: int) -> int:
    """PriorityClasses are made that no policy takes its priority from."""
    named = [f"class-{turn}-{each}" for each in range(AT_ONCE)]
    await bench.make(map(objects.priority_class, named))
    return AT_ONCE


async def _cluster_labelled(bench: Bench, _size: int, turn: int) -> int:
    """Two clusters get another label, which no override and no policy asks for."""
    refs = [Ref(CLUSTER, "Cluster", "", each) for each in TWO]
    await bench.change(refs, partial(_labelled, turn))
    return len(refs)


def _labelled(turn: int, wire: Object) -> Object:
    labels = {**(wire["metadata"].get("labels") or {}), "bench": f"turn-{turn}"}
    return {**wire, "metadata": {**wire["metadata"], "labels": labels}}


async def _joined(bench: Bench, size: int, turn: int) -> int:
    """A cluster joins, and gets what every cluster has: so many Works are made."""
    await bench.join([f"late-{turn}"])
    return size


async def _reported(bench: Bench, size: int, turn: int) -> int:
    """Clusters tell that something else is free."""
    names = [f"cluster-{each}" for each in _some(size, turn)]
    await bench.report(names, turn + 1)
    return len(names)


async def _taint_policy(bench: Bench, _size: int, turn: int) -> int:
    """Taint policies are made that mean one cluster each, and do not taint it."""
    named = [f"taint-{turn}-{each}" for each in range(AT_ONCE)]
    await bench.make(objects.taint_policy(each, TWO[0], "Odd") for each in named)
    return AT_ONCE


async def _role_changed(bench: Bench, _size: int, turn: int) -> int:
    """Roles are made that let nobody through to any cluster."""
    named = [f"role-{turn}-{each}" for each in range(AT_ONCE)]
    await bench.make(objects.cluster_role(each, "", "pods") for each in named)
    return AT_ONCE


async def _way_given(bench: Bench, _size: int, turn: int) -> int:
    """Roles are made that let through to one cluster."""
    named = [f"way-{turn}-{each}" for each in range(AT_ONCE)]
    await bench.make(
        objects.cluster_role(each, "cluster.karmada.io", "clusters/proxy", TWO[:1])
        for each in named
    )
    return AT_ONCE


_SPACES = "space-{}"
_ELSEWHERE: Mapping[str, Do] = {
    "a label of a cluster elsewhere": _far_labelled,
    "a cluster lost elsewhere, or back": _far_lost,
    "a price elsewhere": _far_priced,
}
_IN_SPACES: Mapping[str, Do] = {
    "a Deployment scaled": partial(_scaled, spaces=_SPACES),
    "a Deployment made": partial(_made, spaces=_SPACES),
}
SHAPES: Mapping[str, Shape] = {
    "bindings": Shape(
        _alike,
        {
            "a Deployment scaled": _scaled,
            "a Deployment labelled": _relabelled,
            "a PriorityClass": _priority_class,
            **_ELSEWHERE,
            "a Deployment made": _made,
        },
    ),
    "demands": Shape(partial(_apart, divided=False), _IN_SPACES),
    "demands, divided": Shape(partial(_apart, divided=True), _IN_SPACES),
    "policies": Shape(
        _policies,
        {
            "a Deployment scaled": _scaled,
            "a policy changed": _policy_changed,
            "a policy for nothing": _policy_for_nothing,
            **_ELSEWHERE,
            "a Deployment made": _made,
        },
    ),
    "overrides": Shape(
        _overrides,
        {
            "a Deployment scaled": _scaled,
            "an override changed": _override_changed,
            "a label of a cluster elsewhere": _far_labelled,
        },
    ),
    "namespaces": Shape(
        _namespaces,
        {
            "a namespace labelled": _namespace_labelled,
            "a namespace's override": _namespace_overridden,
            "a cluster labelled": _cluster_labelled,
            "a cluster joined, per namespace": _joined,
        },
    ),
    "clusters": Shape(
        _clusters,
        {
            "a Deployment scaled": lambda bench, _, turn: _scaled(bench, _FEW, turn),
            "a cluster's report": _reported,
            "a taint policy": _taint_policy,
            "a role": _role_changed,
            "a role for one cluster": _way_given,
        },
        (10, 30, 100),
    ),
}

COMPARED: Mapping[str, str] = {
    "demands": "namespaces of their own, against one for all",
    "policies": "policies of their own, against one for all",
}
"""Shapes that are held against that of bindings alike, and what tells them apart."""
ALIKE, COMPARED_OF = "bindings", 1_000
