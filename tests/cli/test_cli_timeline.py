"""A timeline tells what changed, each thing once."""

from dataclasses import replace
from typing import Any

import pytest

from atoll.cli.timeline import Sight, happened

NONE: frozenset[str] = frozenset()
WELL = Sight(
    ready={"a": "True", "b": "True"},
    taints={"a": NONE, "b": NONE},
    targets={"a": 2, "b": 1},
    running=3,
    wanted=3,
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"ready": {"a": "False", "b": "True"}}, [("a", "Ready=False")], id="ready"),
        pytest.param(
            {"taints": {"a": frozenset({"not-ready:NoExecute"}), "b": NONE}},
            [("a", "taint not-ready:NoExecute")],
            id="taint",
        ),
        pytest.param(
            {"targets": {"b": 3}, "evicted": {"a": 2}},
            [("web", "evict 2 from a"), ("web", "schedule a 2→0, b 1→3")],
            id="evict",
        ),
        pytest.param({"running": 1}, [("web", "1/3 ready")], id="running"),
        pytest.param(
            {"running": 5}, [("web", "5 ready, the old copy among them")], id="running-twice"
        ),
        pytest.param(
            {
                "ready": {"a": "True", "b": "True", "c": "True"},
                "taints": {"c": NONE, **WELL.taints},
            },
            [],
            id="a new cluster",
        ),
    ],
)
def test_what_changed_is_told(change: dict[str, Any], told: list[tuple[str, str]]) -> None:
    assert list(happened(WELL, replace(WELL, **change), "web")) == told


def test_what_is_over_is_told_too() -> None:
    tainted = {"a": frozenset({"x:NoExecute"}), "b": NONE}
    before = replace(WELL, taints=tainted, evicted={"a": 2})
    assert list(happened(before, WELL, "web")) == [
        ("a", "taint x:NoExecute is gone"),
        ("web", "the old copy in a is given up"),
    ]
    assert WELL.whole
    assert not before.whole


def test_a_sight_is_read_from_objects() -> None:
    cluster = {
        "metadata": {"name": "a"},
        "spec": {"taints": [{"key": "cluster.karmada.io/not-ready", "effect": "NoExecute"}]},
        "status": {"conditions": [{"type": "Ready", "status": "False"}]},
    }
    tasks = [{"fromCluster": "a", "replicas": 2}]
    binding = {"spec": {"clusters": [{"name": "b", "replicas": 3}], "gracefulEvictionTasks": tasks}}
    template = {"spec": {"replicas": 3}, "status": {"readyReplicas": 1}}
    assert Sight.of([cluster, {"metadata": {"name": "b"}}], binding, template) == Sight(
        ready={"a": "False", "b": "Unknown"},
        taints={"a": frozenset({"not-ready:NoExecute"}), "b": NONE},
        targets={"b": 3},
        evicted={"a": 2},
        running=1,
        wanted=3,
    )
