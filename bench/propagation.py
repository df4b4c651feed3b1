"""python -m bench.propagation: from a template to its members, and from their status to its own.

An embedded plane with three simulated members, all in one process; each case in a process of its
own. One Deployment at a time in an idle plane; many at once, posted by 32 clients under one policy;
and the policy of many moved from one cluster to another. The figures beside ours are Karmada's, on
two cores with its default flags. CPU, memory and time are of plane, members and clients together.

With --real the plane runs on a real kube-apiserver, with three real members whose nodes kwok plays,
and the figures beside ours are Karmada's with flags tuned for speed. CPU and memory are then of the
plane's process; what the servers beside it use is told too. With --plane and --member any servers
are measured whose controllers run already: the bench posts, watches and counts. CPU and memory are
known for the processes given by --process.
"""

import argparse
import asyncio
import multiprocessing
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import orjson
import uvloop

from atoll.runtime.memory import settle_memory
from atoll.wire import Wire
from bench.deliveries import KARMADA, KARMADA_TUNED, Many, Move, One, told
from bench.federations import real
from bench.planes import (
    CONTROLLERS,
    DEPLOYMENTS,
    EMBEDDED,
    POLICIES,
    PREFIX,
    Servers,
    Setting,
    embedded,
    remote,
)
from bench.scheduling import calibration
from testenv.errors import StartFailed, Unavailable

T = TypeVar("T")

CLIENTS = 32
POLICY = f"{PREFIX}policy"
_POLL_S = 0.02
_IDLE_S = 0.1


@dataclass(slots=True)
class Sightings:
    """When each Deployment was first seen where, and when it was last; by its name."""

    wanted: Sequence[str]
    arrived: dict[str, dict[str, float]] = field(default_factory=dict)
    everywhere: dict[str, float] = field(default_factory=dict)
    gone: dict[str, float] = field(default_factory=dict)
    told: dict[str, float] = field(default_factory=dict)

    def follow(self, setting: Setting) -> None:
        setting.plane.listen(self._of_plane)
        for cluster, mirror in setting.members.items():
            mirror.listen(self._of_member(cluster))

    def _of_plane(self, _: Wire | None, after: Wire | None) -> None:
        if after is not None and after["metadata"]["name"].startswith(PREFIX):
            ready = (after.get("status") or {}).get("readyReplicas", 0)
            if ready == len(self.wanted):
                self.told.setdefault(after["metadata"]["name"], time.perf_counter())

    def _of_member(self, cluster: str) -> Callable[[Wire | None, Wire | None], None]:
        def hear(before: Wire | None, after: Wire | None) -> None:
            name, now = (after or before or {})["metadata"]["name"], time.perf_counter()
            if not name.startswith(PREFIX):
                return
            if after is None:
                self.gone[name] = now
            elif cluster in self.wanted:
                arrived = self.arrived.setdefault(name, {})
                arrived.setdefault(cluster, now)
                if len(arrived) == len(self.wanted):
                    self.everywhere.setdefault(name, now)

        return hear


def deployment(name: str) -> Wire:
    labels = {"app": name}
    requests = {"cpu": "1m", "memory": "1Mi"}
    container = {"name": "web", "image": "nginx", "resources": {"requests": requests}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": "default", "name": name, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def policy(*clusters: str) -> Wire:
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"namespace": "default", "name": POLICY},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "placement": {"clusterAffinity": {"clusterNames": list(clusters)}},
        },
    }


async def one_at_a_time(servers: Servers | None, repeats: int) -> One:
    """Deployments one after the other, each in a plane with nothing else to do."""
    found = One([], [], [])
    async with _ready(servers, _clusters(servers)) as (setting, seen):
        for number in range(repeats):
            name = f"{PREFIX}one-{number}"
            start = time.perf_counter()
            await setting.user.create(DEPLOYMENTS, deployment(name))
            await _until(partial(seen.told.__contains__, name))
            when = sorted(seen.arrived[name].values())
            found.first.append((when[0] - start) * 1e3)
            found.everywhere.append((when[-1] - start) * 1e3)
            found.told.append((seen.told[name] - start) * 1e3)
            await asyncio.sleep(_IDLE_S)
    return found


async def many_at_once(servers: Servers | None, count: int) -> Many:
    """Deployments posted by many clients."""
    async with _ready(servers, _clusters(servers)) as (setting, seen):
        before, start = await setting.spent(), time.perf_counter()
        await _post(setting, count)
        await _until(lambda: len(seen.everywhere) == count)
        exist = await setting.spent()
        await _until(lambda: len(seen.told) == count)
        summed = await setting.spent()
        await setting.calm()
        after = await setting.spent()
        return Many(
            count=count,
            exist_s=max(seen.everywhere.values()) - start,
            told_s=max(seen.told.values()) - start,
            exist_cpu_s=_less(exist.cpu_s, before.cpu_s),
            cpu_s=_less(summed.cpu_s, before.cpu_s),
            writes={key: after.writes[key] - before.writes.get(key, 0) for key in after.writes},
            peak_mib=after.peak_mib,
        )


async def moved(servers: Servers | None, count: int) -> Move:
    """Deployments that are settled in one cluster, and whose policy then names another."""
    old, new, *_ = _clusters(servers)
    async with _ready(servers, [old]) as (setting, seen):
        await _post(setting, count)
        await _until(lambda: len(seen.told) == count)
        await setting.calm()
        seen.wanted = [new]
        seen.arrived.clear()
        seen.everywhere.clear()
        before = await setting.user.get(POLICIES.path("default", POLICY))
        start = time.perf_counter()
        await setting.user.replace(POLICIES, {**before, "spec": policy(new)["spec"]})
        await _until(lambda: len(seen.arrived) == len(seen.gone) == count)
        late = [gone - max(seen.arrived[name].values()) for name, gone in seen.gone.items()]
        assert min(late) > 0, "a Deployment was nowhere for a while"
        arrived, gone = max(seen.everywhere.values()), max(seen.gone.values())
        return Move(count, arrived - start, gone - start)


def _less(after: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    return {process: spent - before[process] for process, spent in after.items()}


def _clusters(servers: Servers | None) -> Sequence[str]:
    return EMBEDDED if servers is None else list(servers.members)


@asynccontextmanager
async def _ready(
    servers: Servers | None, clusters: Sequence[str]
) -> AsyncIterator[tuple[Setting, Sightings]]:
    """A plane with a policy for these clusters that has come to rest, and who watches it."""
    async with embedded() if servers is None else remote(servers) as setting:
        await setting.user.create(POLICIES, policy(*clusters))
        seen = Sightings(clusters)
        seen.follow(setting)
        await setting.calm()
        yield setting, seen


async def _post(setting: Setting, count: int) -> None:
    numbers = iter(range(count))

    async def client() -> None:
        for number in numbers:
            await setting.user.create(DEPLOYMENTS, deployment(f"{PREFIX}many-{number}"))

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(600):
        while not holds():
            await asyncio.sleep(_POLL_S)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.propagation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer of everything")
    parser.add_argument("-o", dest="output", choices=["table", "json"], default="table")
    parser.add_argument("--real", action="store_true", help="on real Kubernetes, with real members")
    parser.add_argument("--plane", type=Path, metavar="KUBECONFIG", help="a plane that runs")
    parser.add_argument(
        "--member", type=_member, action="append", default=[], metavar="NAME=KUBECONFIG"
    )
    parser.add_argument("--process", type=int, action="append", default=[], metavar="PID")
    options = parser.parse_args(arguments)
    if options.plane is not None and len(options.member) < 2:
        parser.error("--plane needs at least two times --member, to move from one to the other")
    with ExitStack() as started:
        servers = None
        if options.real:
            try:
                servers = started.enter_context(real())
            except (Unavailable, StartFailed) as error:
                raise SystemExit(f"bench: {error}") from None
        elif options.plane is not None:
            processes = {CONTROLLERS: tuple(options.process)} if options.process else {}
            servers = Servers(options.plane, dict(options.member), processes)
        sizes = (60,) if options.quick else (300,) if servers else (300, 1_000)
        _measure(servers, sizes, as_json=options.output == "json")
    return 0


def _measure(servers: Servers | None, sizes: Sequence[int], *, as_json: bool) -> None:
    repeats, moving = min(50, sizes[0] // 6), sizes[0]
    speed = calibration()
    one = _alone(one_at_a_time, servers, repeats)
    many = [_alone(many_at_once, servers, size) for size in sizes]
    move = _alone(moved, servers, moving)
    if as_json:
        found: dict[str, Any] = {"calibration": speed, "one": asdict(one), "move": asdict(move)}
        found["many"] = [asdict(each) for each in many]
        print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
        return
    theirs = KARMADA if servers is None else KARMADA_TUNED
    print("\n".join(told(one, many, move, theirs)))
    print(f"\ncalibration: {speed:.2f} million steps per CPU-second")


def _member(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    if not name or not path:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=KUBECONFIG")
    return name, Path(path)


Case = Callable[[Servers | None, int], Coroutine[Any, Any, T]]


def _alone(case: Case[T], servers: Servers | None, size: int) -> T:
    """Run a case in a process of its own, so that its memory is its own."""
    spawn, begun = multiprocessing.get_context("spawn"), time.perf_counter()
    with ProcessPoolExecutor(1, mp_context=spawn) as processes:
        found = processes.submit(_run, case, servers, size).result()
    took_s = time.perf_counter() - begun
    print(f"bench: {case.__name__} with {size} took {took_s:.0f} s", file=sys.stderr)
    return found


def _run(case: Case[T], servers: Servers | None, size: int) -> T:
    """On the event loop, and with the care for memory, that the product has."""
    settle_memory()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(case(servers, size))


if __name__ == "__main__":
    raise SystemExit(main())
