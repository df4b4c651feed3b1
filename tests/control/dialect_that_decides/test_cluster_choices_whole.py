"""A policy that only decides: decided as others are, told in its own kinds, sent nowhere."""

import asyncio
import re
from pathlib import Path
from typing import Any

import cluster_choices
from cluster_choices import API_VERSION, CHOICE, CHOICES, RESULT
from served_dialect import GUIDE, ROOT, naming, serve, warnings
from sites import until
from whole import Whole, whole

from atoll.control.hub import BINDING, CLUSTER, WORK
from atoll.control.running import USUAL_SOURCES
from atoll.model.action import Ref

CHOSEN = Ref(API_VERSION, CHOICE, "default", "batch")
BOUND = Ref(BINDING, "ResourceBinding", "default", "batch-clusterchoice")


def choice(count: int, **spec: Any) -> dict[str, Any]:
    metadata = {"namespace": CHOSEN.namespace, "name": CHOSEN.name}
    return {
        "apiVersion": API_VERSION,
        "kind": CHOICE,
        "metadata": metadata,
        "spec": {"count": count, **spec},
    }


def told(it: Whole) -> tuple[list[str], int | None]:
    """What its own kinds say: which clusters, and how many."""
    result = it.hub.plane.find(CHOSEN._replace(kind=RESULT)) or {}
    made = it.hub.plane.find(CHOSEN) or {}
    return result.get("clusters", []), made.get("status", {}).get("chosen")


async def labelled(it: Whole, name: str, **labels: str) -> None:
    api = it.api
    path = it.hub.plane.collection(CLUSTER, "Cluster").path("", name)
    wire = await api.get(path)
    await it.replace({**wire, "metadata": {**wire["metadata"], "labels": labels}})


def test_a_choice_is_decided_told_in_its_own_kinds_followed_and_deleted() -> None:
    async def story() -> None:
        async with whole(["m1", "m2", "m3"], sources=(*USUAL_SOURCES, CHOICES)) as it:
            await it.hub.plane.follow("v1", "Event")
            for kind in (CHOICE, RESULT):
                await serve(it, API_VERSION, kind)
            made = await it.create(choice(2, sortBy="age"))
            await until(lambda: told(it) == (["m1", "m2"], 2))
            await until(lambda: warnings(it, "FieldsIgnored"))
            assert warnings(it, "FieldsIgnored")[0].startswith("ClusterChoice: spec.sortBy")
            assert it.hub.plane.all(WORK, "Work") == []
            await labelled(it, "m3", tier="gold")
            await it.change(CHOSEN, labels={"tier": "gold"})
            await until(lambda: told(it) == (["m3"], 1))
            await it.change(CHOSEN, labels="gold")
            await until(lambda: warnings(it, "ApplyPolicyFailed"))
            assert told(it) == (["m3"], 1), "what cannot be read changes nothing"
            await it.delete(made)
            await until(lambda: told(it) == ([], None))
            await until(lambda: it.hub.plane.find(BOUND) is None)
            assert it.hub.plane.all(WORK, "Work") == []

    asyncio.run(story())


def test_the_guide_shows_the_code_that_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / GUIDE).read_text(), re.DOTALL)
    code = Path(cluster_choices.__file__).read_text()
    assert len(blocks) == 4
    assert [each for each in blocks if each not in code] == []


def test_nothing_else_names_this_dialect() -> None:
    words = ("ClusterChoice", "cluster_choices", "choices.example.org")
    assert naming(*words) == {"tests/control/dialect_that_decides"}
