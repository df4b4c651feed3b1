"""python -m bench.unrelated: how long one waits who has nothing to do with what many others post.

An embedded plane with three simulated members, all in one process. Many Deployments are posted by
32 clients under one policy, as fast as they can or at a pace; meanwhile another user posts one at a
time, each in a namespace and under a policy of its own. Told is how long each of these took to be
accepted, and to be in its members; and of all, how long after the member's own report the template
said so; and how busy the process was until all were posted, members included.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf

import uvloop

from atoll.client.api import Collection
from atoll.runtime.memory import settle_memory
from atoll.wire import Wire
from bench.planes import DEPLOYMENTS, EMBEDDED, POLICIES, PREFIX, Setting, embedded
from bench.propagation import CLIENTS, POLICY, deployment, policy

NAMESPACES = Collection("v1", "Namespace", "namespaces", namespaced=False)
ALONE = f"{PREFIX}alone"
_EVERY_S = 0.25
_POLL_S = 0.05
_ALONE_MOST = 400
_PODS_OF_A_NODE = 200

Key = tuple[str, str]


@dataclass(slots=True)
class Seen:
    """When each Deployment was posted, accepted, in all members, well in all, and told of."""

    posted: dict[Key, float] = field(default_factory=dict)
    accepted: dict[Key, float] = field(default_factory=dict)
    arrived: dict[Key, dict[str, float]] = field(default_factory=dict)
    well: dict[Key, dict[str, float]] = field(default_factory=dict)
    told: dict[Key, float] = field(default_factory=dict)
    busy: float = 0.0

    def follow(self, setting: Setting) -> None:
        setting.plane.listen(self._of_plane)
        for cluster, mirror in setting.members.items():
            mirror.listen(partial(self._of_member, cluster))

    def everywhere(self) -> dict[Key, float]:
        """When those that are in all members were in the last of them."""
        return {
            key: max(when.values())
            for key, when in self.arrived.items()
            if len(when) == len(EMBEDDED)
        }

    def _of_plane(self, _: Wire | None, after: Wire | None) -> None:
        if after is not None and _ready(after) == len(EMBEDDED):
            self.told.setdefault(_key(after), time.perf_counter())

    def _of_member(self, cluster: str, _: Wire | None, after: Wire | None) -> None:
        if after is not None:
            now = time.perf_counter()
            self.arrived.setdefault(_key(after), {}).setdefault(cluster, now)
            if _ready(after):
                self.well.setdefault(_key(after), {}).setdefault(cluster, now)


async def measure(count: int, per_second: float) -> tuple[Seen, float]:
    """What was seen while so many were posted, and how long that took until all was told."""
    seen = Seen()
    async with embedded(count // _PODS_OF_A_NODE + 10) as setting:
        seen.follow(setting)
        await setting.user.create(POLICIES, policy(*EMBEDDED))
        for number in range(_ALONE_MOST):
            await _prepare(setting, f"{ALONE}-{number}")
        await setting.calm()
        begun, cpu = time.perf_counter(), time.process_time()
        names = iter([f"{PREFIX}{number}" for number in range(count)])
        many = asyncio.gather(
            *(_post(setting, seen, names, CLIENTS / per_second) for _ in range(CLIENTS))
        )
        alone = 0
        while len(seen.everywhere()) < count + alone or not many.done():
            if alone < _ALONE_MOST:
                asyncio.ensure_future(_one(setting, seen, f"{ALONE}-{alone}"))  # noqa: RUF006
                alone += 1
            await asyncio.sleep(_EVERY_S)
            if alone == _ALONE_MOST or len(seen.everywhere()) >= count:
                break
        await many
        seen.busy = (time.process_time() - cpu) / (time.perf_counter() - begun)
        while len(seen.told) < count + alone:
            await asyncio.sleep(_POLL_S)
        return seen, time.perf_counter() - begun


async def _prepare(setting: Setting, name: str) -> None:
    await setting.user.create(
        NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )
    own = policy(*EMBEDDED)
    await setting.user.create(POLICIES, {**own, "metadata": {"namespace": name, "name": POLICY}})


async def _post(setting: Setting, seen: Seen, names: Iterator[str], every_s: float) -> None:
    due = time.perf_counter()
    for name in names:
        await _create(setting, seen, deployment(name))
        due += every_s
        await asyncio.sleep(max(0.0, due - time.perf_counter()))


async def _one(setting: Setting, seen: Seen, name: str) -> None:
    wire = deployment(f"{PREFIX}alone")
    wire["metadata"]["namespace"] = name
    await _create(setting, seen, wire)


async def _create(setting: Setting, seen: Seen, wire: Wire) -> None:
    seen.posted[_key(wire)] = time.perf_counter()
    await setting.user.create(DEPLOYMENTS, wire)
    seen.accepted[_key(wire)] = time.perf_counter()


def _key(wire: Wire) -> Key:
    return wire["metadata"]["namespace"], wire["metadata"]["name"]


def _ready(wire: Wire) -> int:
    return int((wire.get("status") or {}).get("readyReplicas", 0))


def _quantiles(what: str, seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    at = [ordered[min(len(ordered) - 1, int(len(ordered) * each))] for each in (0.5, 0.9, 0.99)]
    shown = "  ".join(f"{each:8.3f}" for each in (*at, ordered[-1]))
    return f"{what:<44}{shown}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.unrelated", description=__doc__)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--per-second", type=float, default=inf, metavar="N", help="the pace")
    options = parser.parse_args(arguments)
    settle_memory()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        seen, took_s = runner.run(measure(options.count, options.per_second))
    everywhere = seen.everywhere()
    alone = [key for key in seen.posted if key[0].startswith(ALONE)]
    many = [key for key in seen.posted if not key[0].startswith(ALONE)]
    print(f"{options.count} posted, {len(alone)} unrelated meanwhile; {took_s:.1f} s in all")
    print(f"one core was busy for {seen.busy:.0%} of the time meanwhile")
    print(f"{'seconds':<44}     p50       p90       p99       max")
    for what, keys in (("many", many), ("unrelated", alone)):
        post = [seen.accepted[key] - seen.posted[key] for key in keys]
        print(_quantiles(f"{what}: accepted after", post))
        there = [everywhere[key] - seen.posted[key] for key in keys]
        print(_quantiles(f"{what}: in all members after", there))
        told = [seen.told[key] - max(seen.well[key].values()) for key in keys]
        print(_quantiles(f"{what}: told after the last member's report", told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
