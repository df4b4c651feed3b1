"""The fleet `hybrid` is as full as it is said to be, node by node, wherever its pods end up."""

import asyncio
from contextlib import suppress
from pathlib import Path

from atoll.config import Config
from atoll.effects import system_effects
from atoll.simulated.choosing_fleet import find_fleet
from atoll.simulated.faults import Gate
from atoll.simulated.hosting import hosting

GIB = 2**30
# CPUs in use, of so many; and how many replicas of 2 CPUs and 4 GiB fit, node by node.
WANTED = {
    "idc-bj": (208, 320, 56),
    "idc-sh": (173, 192, 0),
    "ali-hz": (24, 80, 28),
    "aws-use1": (20, 80, 30),
    "azr-weu": (16, 64, 24),
}


def numbers(gate: Gate) -> tuple[int, int, int]:
    places = gate.member.keeper.hosts.places
    used, offered, fits = 0, 0, 0
    for name, node in places.nodes.items():
        here = places.used_on(name)
        used += here.get("cpu", 0)
        offered += node.allocatable["cpu"]
        free = {key: node.allocatable[key] - here.get(key, 0) for key in ("cpu", "memory")}
        fits += min(free["cpu"] // 2000, free["memory"] // (4 * GIB))
    return used // 1000, offered // 1000, fits


def test_what_is_in_use_and_what_fits_is_as_described(tmp_path: Path) -> None:
    found: dict[str, tuple[int, int, int]] = {}

    async def main() -> None:
        clusters = find_fleet("hybrid").clusters
        async with hosting(clusters, Config(tmp_path), system_effects()) as gates:
            async with asyncio.timeout(120):
                while found != WANTED:
                    await asyncio.sleep(0.02)
                    found.update({name: numbers(gate) for name, gate in gates.items()})

    with suppress(TimeoutError):  # the difference says more
        asyncio.run(main())
    assert found == WANTED
