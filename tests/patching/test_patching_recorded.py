"""Our patches, held against what a real kube-apiserver made of them (see tests/applying/record.py).

Its answer is validated, ours is not yet: what it refused for its contents we let pass.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from patches import RECORDINGS

from atoll.apiserver.kinds.builtin import builtin_resources
from atoll.apiserver.patching.json_patch import apply_json_patch
from atoll.apiserver.patching.merge_patch import apply_merge_patch
from atoll.apiserver.patching.strategic import apply_strategic_patch
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.status import ApiError

Json = dict[str, Any]

RECORDED = Path(__file__).parent / "recorded"
RESOURCES = {resource.kind: resource for resource in builtin_resources(load())}
BOOKKEEPING = ("generation", "managedFields", "creationTimestamp", "uid")


def recorded_patches() -> list[Any]:
    params = []
    for name, (_, kind, patches) in RECORDINGS.items():
        base, *outcomes = json.loads((RECORDED / f"{name}.json").read_text())
        for number, (patch, outcome) in enumerate(zip(patches, outcomes, strict=True)):
            params.append(pytest.param(kind, base, patch, outcome, id=f"{name}-{number}"))
    return params


def run(kind: str, base: Json, patch: Any) -> Any:
    if kind == "json":
        return apply_json_patch(base, patch)
    if kind == "merge":
        return apply_merge_patch(base, patch)
    return apply_strategic_patch(base, patch, RESOURCES[base["kind"]].schema)


def refused_later(refused: Json) -> bool:
    """Whether the patch could be applied, and what came of it was refused."""
    causes = (refused["details"] or {}).get("causes", [])
    return bool(refused["code"] == 422 and causes) or "undeterminable" in refused["message"]


def comparable(obj: Json) -> Json:
    kept = {k: v for k, v in obj["metadata"].items() if k not in BOOKKEEPING}
    return {**meaningful(obj), "metadata": meaningful(kept)}


def meaningful(value: Any) -> Any:
    """The value without what Go leaves out when it writes: nulls, and lists and maps of nothing."""
    if isinstance(value, dict):
        inner = {key: meaningful(child) for key, child in value.items()}
        return {k: v for k, v in inner.items() if v is not None and v not in ({}, [])}
    return [meaningful(child) for child in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("kind", "base", "patch", "outcome"), recorded_patches())
def test_a_patch_does_what_it_does_in_kubernetes(
    kind: str, base: Json, patch: Any, outcome: Json
) -> None:
    before = json.dumps([base, patch])
    if "object" in outcome:
        ours = json.loads(json.dumps(run(kind, base, patch)))
        RESOURCES[base["kind"]].strategy.default(ours)
        assert comparable(ours) == comparable(outcome["object"])
    elif refused_later(outcome["refused"]):
        assert run(kind, base, patch) is not None
    else:
        with pytest.raises(ApiError) as refusal:
            run(kind, base, patch)
        told = refusal.value.status()
        assert {key: told.get(key) for key in outcome["refused"]} == outcome["refused"]
    assert json.dumps([base, patch]) == before, "no input may change"
