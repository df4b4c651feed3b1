"""Which change wakes which controller: one table, that the page shows and the hub goes by."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from served_dialect import serve
from sites import until
from test_policies_whole import policy
from whole import whole

from atoll.control import wakes
from atoll.control.wakes import TEMPLATES, WAKES, Wakes, What
from atoll.dialects.karmada.objects import kinds
from atoll.model.action import Ref

PAGE = Path(__file__).parents[2] / "docs/ARCHITECTURE.md"
CONTROLLERS = PAGE.parents[1] / "atoll/control"
NO_CONTROLLERS = {"hub", "process"}
"""The indexes that all share, and whoever waits for the plane to be ready."""
GATES = "PriorityBasedScheduling=true,Failover=true,PropagateDeps=true"


def test_the_page_shows_the_table() -> None:
    section = PAGE.read_text().partition("## What wakes whom")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)[1:]
    shown = {what: tuple(told.split(", ")) for what, told in rows}
    assert shown == {kind: told for (_, kind), told in WAKES.items()}
    assert list(shown) == [kind for _, kind in WAKES]


def test_each_name_in_the_table_is_the_folder_of_a_controller() -> None:
    named = {name for told in WAKES.values() for name in told} - NO_CONTROLLERS
    assert named
    assert {name for name in named if not (CONTROLLERS / name).is_dir()} == set()


def test_who_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"wakes\.py does not say that .*Work.* wakes taints"):
        Wakes().add("taints", kinds.WORK.key, print)
    with pytest.raises(AssertionError, match="Widget"):
        Wakes().add("works", ("example.org/v1", "Widget"), print)


def test_the_order_told_is_that_of_the_table_however_they_came() -> None:
    heard = Wakes()
    told: list[str] = []
    row = WAKES[kinds.WORK.key]
    for name in reversed(row):
        heard.add(name, kinds.WORK.key, lambda name=name: told.append(name))
    heard.add("works", kinds.WORK.key, lambda: told.append("works"))
    heard.add("detector", TEMPLATES, lambda: told.append("detector"))
    heard.add("detector", kinds.OVERRIDE_POLICY.key, lambda: told.append("detector"), wakes.AWAITED)
    heard.add("works", kinds.OVERRIDE_POLICY.key, lambda: told.append("works"))
    for hearer in heard.of(kinds.WORK.key, TEMPLATES):
        hearer()
    at = row.index("works")
    assert told == [*row[:at], "works", *row[at:], "detector"]
    told.clear()
    for hearer in heard.of(kinds.OVERRIDE_POLICY.key):
        hearer()
    assert told == ["works", "detector"], "the rows' order too is the table's"


def test_a_plane_with_all_gates_open_uses_all_of_the_table() -> None:
    rows = list(WAKES)

    async def story() -> set[tuple[What, str]]:
        async with whole([], gates=GATES) as it:
            told = [each for one in it.hub._wakes._hearers.values() for each in one]
            return {(rows[row], WAKES[rows[row]][place]) for row, place, _ in told}

    used = asyncio.run(story())
    listed = {(what, name) for what, told in WAKES.items() for name in told}
    of_others = {(wakes.CLUSTER, "process")}
    of_sources_that_tell = {(each.key, "policies") for each in kinds.BINDINGS}
    assert listed - used == of_others | of_sources_that_tell


def test_a_users_own_kind_of_the_same_name_is_no_cluster_of_the_plane() -> None:
    api = "machines.example.org/v1"
    stray = Ref(api, "Cluster", "default", "stray")
    metadata = {"namespace": stray.namespace, "name": stray.name}

    async def story() -> None:
        async with whole(["m1"]) as it:
            wanted = policy("own", "m1")
            wanted["spec"]["resourceSelectors"] = [{"apiVersion": api, "kind": "Cluster"}]
            await it.create(wanted)
            await serve(it, api, "Cluster")
            await it.create({"apiVersion": api, "kind": "Cluster", "metadata": metadata})
            await until(lambda: it.hub.plane.find(stray))
            await until(lambda: _placed(it.hub.plane.all("work.karmada.io/v1alpha2", BOUND)))
            assert {*it.hub.clusters} == {"m1"}

    asyncio.run(story())


BOUND = "ResourceBinding"


def _placed(bindings: list[dict[str, Any]]) -> bool:
    """Whether it was looked at where the user's own object goes."""
    return any(each.get("status", {}).get("conditions") for each in bindings)
