"""Killed at any moment and started again over its log, a plane goes on where it was."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sites import until
from test_pipeline import deployment, policy
from whole import plane_over

from atoll.control.hub import BINDING, WORK
from atoll.effects import system_effects
from atoll.model.action import Ref
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from atoll.store.sqlite import SqliteLog
from simulation.link import LinkedMember, build

MEMBERS = ("m1", "m2", "m3")
COUNT = 12
# A process of its own: plane and members over files, with clients that post without an end.
PROGRAM = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_restart import live
asyncio.run(live(Path(sys.argv[1])))
"""


def members_over(directory: Path) -> dict[str, LinkedMember]:
    effects = system_effects()
    return {name: build(name, effects, log=SqliteLog(directory / f"{name}.db")) for name in MEMBERS}


async def live(directory: Path) -> None:
    """Post Deployments and say so on standard output, until killed."""
    members = members_over(directory)
    async with (
        running(*members.values()),
        plane_over(members, SqliteLog(directory / "plane.db"), system_effects()) as it,
    ):
        await it.create(policy("m1", "m2", weights={"m1": 1, "m2": 1}))
        for number in range(COUNT):
            await it.create(deployment(2, f"d{number}"))
            sys.stdout.write(f"d{number}\n")
            sys.stdout.flush()
        await asyncio.Event().wait()


def in_members(members: dict[str, LinkedMember]) -> dict[tuple[str, str], str]:
    """The uid of everything of ours, by cluster and name."""
    found: dict[tuple[str, str], str] = {}
    for name, member in members.items():
        for record in member.store.page("deployments.apps").records:
            metadata: dict[str, Any] = json.loads(record.value)["metadata"]
            found[name, metadata["name"]] = metadata["uid"]
    return found


@pytest.mark.parametrize("posted", [1, 6, COUNT])
def test_a_process_that_is_killed_converges_when_it_is_started_again(
    tmp_path: Path, posted: int
) -> None:
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), here]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline().strip() for _ in range(posted)]
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read().split()
    assert process.returncode == -signal.SIGKILL

    async def story() -> None:
        members = members_over(tmp_path)
        before = in_members(members)
        async with (
            running(*members.values()),
            plane_over(members, SqliteLog(tmp_path / "plane.db"), system_effects()) as it,
        ):
            templates = [
                each["metadata"]["name"] for each in it.hub.plane.all("apps/v1", "Deployment")
            ]
            assert set(told) <= set(templates), "what was acknowledged is there"
            wanted = {(cluster, name) for cluster in ("m1", "m2") for name in templates}
            await until(lambda: in_members(members).keys() == wanted)
            for name in templates:
                ref = Ref("apps/v1", "Deployment", "default", name)
                await until(lambda ref=ref: _ready(it.hub.plane.find(ref)) == 2)
            after = in_members(members)
            assert {key: after[key] for key in before} == before, "nothing was made anew"
            assert len(it.hub.plane.all(WORK, "Work")) >= 2 * len(templates)
            assert len(it.hub.plane.all(BINDING, "ResourceBinding")) == len(templates)

    asyncio.run(story())


def _ready(wire: dict[str, Any] | None) -> int:
    return int(((wire or {}).get("status") or {}).get("readyReplicas", 0))


def test_a_plane_that_lives_many_short_lives_makes_nothing_twice() -> None:
    async def story() -> None:
        effects = system_effects()
        members = {name: build(name, effects) for name in MEMBERS}
        log = MemoryLog()
        uids: dict[tuple[str, str], set[str]] = {}

        def note() -> None:
            for key, uid in in_members(members).items():
                uids.setdefault(key, set()).add(uid)

        async with running(*members.values()):
            for member in members.values():
                member.store.listen(lambda _events: note())
            async with plane_over(members, log, effects) as it:
                await it.create(policy("m1", "m2", weights={"m1": 1, "m2": 3}))
                for number in range(COUNT):
                    await it.create(deployment(4, f"d{number}"))
            for life in range(4):
                async with plane_over(members, log, effects):
                    await asyncio.sleep(0.02 * life)
            async with plane_over(members, log, effects) as it:
                refs = [
                    Ref("apps/v1", "Deployment", "default", f"d{number}") for number in range(COUNT)
                ]
                for ref in refs:
                    await until(lambda ref=ref: _ready(it.hub.plane.find(ref)) == 4)
        names = {ref.name for ref in refs}
        assert uids.keys() == {(cluster, name) for cluster in ("m1", "m2") for name in names}
        assert all(len(each) == 1 for each in uids.values())

    asyncio.run(story())
