"""What is gone is forgotten: no table of the controllers grows with all that there ever was."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from types import CellType, FunctionType, MethodType
from typing import Any

from sites import POLICY
from test_dependencies import carrying, thing, workload
from test_pipeline import NGINX, deployment, policy
from whole import Whole, whole

from atoll.control.hub import BINDING, CLUSTER
from atoll.model.action import Ref
from atoll.wire import Object
from simulation.world import World, simulate

MARK, WORKLOADS = "passing", 6
OURS = ("atoll.control", "atoll.runtime", "atoll.client.mirror", "atoll.client.informer")
PLAIN = (dict, list, set, tuple, frozenset, CellType, FunctionType, MethodType)
SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{MARK}-space"}}
SETTINGS = Ref("v1", "ConfigMap", SPACE["metadata"]["name"], f"{MARK}-settings")


def held(root: object) -> Iterator[tuple[str, object]]:
    """Every key of every table that is reached from here through what is the controllers' own."""
    seen, todo = set[int](), [(root, "hub")]
    while todo:
        here, path = todo.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        if isinstance(here, dict | set | frozenset):
            yield from ((path, key) for key in list(here))
        is_ours = type(here).__module__.startswith(OURS) and not isinstance(here, type)
        if is_ours and hasattr(here, "__dict__"):
            todo += [(value, f"{type(here).__name__}.{key}") for key, value in vars(here).items()]
        elif isinstance(here, FunctionType):
            todo += [(each, here.__qualname__) for each in here.__closure__ or ()]
        elif is_ours or isinstance(here, PLAIN) or type(here).__name__ == "partial":
            todo += [(each, path) for each in gc.get_referents(here)]


def left(it: Whole, uids: set[str]) -> set[tuple[str, str]]:
    """Where something is still known by the name or the uid of what is gone."""
    return {
        (path, str(key))
        for path, key in held(it.hub)
        if path.split(".")[0] != "by_name"
        and (MARK in str(key) or any(uid in str(key) for uid in uids))
    }


def named(wire: dict[str, Any], name: str = "") -> dict[str, Any]:
    """An object that will go: in the namespace that goes, under such a name."""
    metadata = {"namespace": SPACE["metadata"]["name"], "name": f"{MARK}-{name}"}
    return {**wire, "metadata": {**wire["metadata"], **metadata}}


async def soon(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(600):
        while not holds():
            await asyncio.sleep(0.5)


def known(it: Whole) -> list[Object]:
    """What the plane is known to have of what is to go."""
    of = ((BINDING, "ResourceBinding"), (POLICY, "PropagationPolicy"), (CLUSTER, "Cluster"))
    kinds = (*of, ("work.karmada.io/v1alpha1", "Work"), ("v1", "ConfigMap"), ("v1", "Namespace"))
    wires = (wire for kind in kinds for wire in it.hub.plane.all(*kind))
    return [each for each in wires if MARK in str(each["metadata"])]


def are_told(it: Whole) -> bool:
    """Whether there are statuses of all that was sent."""
    bindings = [each for each in known(it) if each["kind"] == "ResourceBinding"]
    told = [(each.get("status") or {}).get("aggregatedStatus") for each in bindings]
    return len(told) > WORKLOADS and all(told)


def test_of_what_is_gone_nothing_is_kept() -> None:
    async def main(world: World) -> None:
        cluster = Ref(CLUSTER, "Cluster", "", f"{MARK}-member")
        async with whole(["m1", cluster.name], effects=world.effects("hub")) as it:
            await it.create(policy("m1"))
            await it.create(deployment(1))
            space = await it.create(SPACE)
            await it.create(named(thing(SETTINGS), "settings"))
            await it.create(named(carrying("m1", cluster.name), "policy"))
            for number in range(WORKLOADS):
                await it.create(named(workload(needs=(SETTINGS,)), f"work-{number}"))
            await soon(lambda: are_told(it))
            await it.change(cluster, taints=[{"key": "down", "effect": "NoExecute"}])
            await asyncio.sleep(1)  # some have yet to leave it: only so many a second do
            uids = {each["metadata"]["uid"] for each in known(it)}
            assert left(it, uids), "it is known while it is there"
            await it.delete(space)
            await it.delete(dict(it.hub.plane.find(cluster) or {}))
            await soon(lambda: not known(it))
            # What remains of Works that ended is remembered for half an hour, until others end; of
            # nodes, until something is decided.
            await asyncio.sleep(2000)
            await it.delete(dict(it.hub.plane.find(NGINX) or {}))
            await it.create(deployment(1, "another"))
            await asyncio.sleep(60)
            assert left(it, uids) == set()

    simulate(main, seed=6)
