"""What the growth bench fills a plane with, and what it then changes.

A shape says what there is, so many times; a change, what happens to a little of it, and to how many
things. All that is there otherwise is to cost nothing.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from atoll.control.hub import CLUSTER
from atoll.model.action import Ref
from bench.growth import objects
from bench.growth.objects import POLICY, Object
from bench.growth.plane import Bench

TWO = ("cluster-0", "cluster-1")
TEN = tuple(f"cluster-{each}" for each in range(10))
AT_ONCE = 10
_FEW = 20

Build = Callable[[Bench, int], Awaitable[None]]
Do = Callable[[Bench, int, int], Awaitable[int]]
"""In a plane of this size, in this round; how many things were changed."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What there is so many times, and how it changes; `sizes` are those that tell the most."""

    build: Build
    changes: Mapping[str, Do]
    sizes: tuple[int, ...] = (100, 300, 1_000)


def space(number: int) -> str:
    return f"space-{number}"


def web(number: int) -> str:
    return f"web-{number}"


async def _alike(bench: Bench, size: int) -> None:
    await bench.join(TWO)
    await bench.make([objects.policy("all", "default", TWO)])
    await bench.make(objects.deployment(web(each), "default") for each in range(size))


async def _apart(bench: Bench, size: int, *, divided: bool) -> None:
    await bench.join(TWO)
    await bench.make([objects.policy("all", "", TWO, divided=divided)])
    await bench.make(objects.namespace(space(each)) for each in range(size))
    await bench.settle()
    await bench.make(objects.deployment(web(each), space(each)) for each in range(size))


async def _policies(bench: Bench, size: int) -> None:
    await bench.join(TWO)
    await bench.make(
        objects.policy(web(each), "default", TWO, only=web(each)) for each in range(size)
    )
    await bench.make(objects.deployment(web(each), "default") for each in range(size))


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


def _some(size: int, turn: int) -> list[int]:
    """Others in each round, as far as there are."""
    return [(turn * AT_ONCE + each) % size for each in range(min(AT_ONCE, size))]


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
        placement = {**wire["spec"]["placement"], "clusterAffinity": {"clusterNames": names}}
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
        said = objects.override(wire["metadata"]["name"], "default", wire["metadata"]["name"], "")
        rules = said["spec"]["overrideRules"]
        rules[0]["overriders"]["annotationsOverrider"][0]["value"]["bench"] = f"turn-{turn}"
        return {**wire, "spec": {**wire["spec"], "overrideRules": rules}}

    await bench.change(refs, to)
    return len(refs)


async def _namespace_labelled(bench: Bench, size: int, turn: int) -> int:
    """Namespaces get another label, which every cluster is to know."""
    refs = [Ref("v1", "Namespace", "", space(each)) for each in _some(size, turn)]
    await bench.change(refs, partial(_labelled, turn))
    return len(refs)


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
    await bench.make(objects.cluster_role(each, "pods") for each in named)
    return AT_ONCE


_SPACES = "space-{}"
SHAPES: Mapping[str, Shape] = {
    "bindings": Shape(_alike, {"a Deployment scaled": _scaled}),
    "demands": Shape(
        partial(_apart, divided=False),
        {"a Deployment scaled": partial(_scaled, spaces=_SPACES)},
    ),
    "demands, divided": Shape(
        partial(_apart, divided=True),
        {"a Deployment scaled": partial(_scaled, spaces=_SPACES)},
    ),
    "policies": Shape(
        _policies,
        {
            "a Deployment scaled": _scaled,
            "a policy changed": _policy_changed,
            "a policy for nothing": _policy_for_nothing,
        },
    ),
    "overrides": Shape(
        _overrides, {"a Deployment scaled": _scaled, "an override changed": _override_changed}
    ),
    "namespaces": Shape(
        _namespaces,
        {
            "a namespace labelled": _namespace_labelled,
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
        },
        (10, 30, 100),
    ),
}


def changes_of(shapes: Sequence[str]) -> list[tuple[str, str]]:
    """Every change of these shapes, by the shape's name and its own."""
    return [(name, change) for name in shapes for change in SHAPES[name].changes]
