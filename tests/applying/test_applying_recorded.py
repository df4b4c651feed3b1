"""Our ownership and our merges, held against what a real kube-apiserver recorded (see record.py).

Each step starts from the object that the real server had. Its answer is decoded and defaulted, ours
is not yet; so for built-in kinds an applied object may lack what the server filled in.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from scenario_steps import CRD
from scenarios import SCENARIOS

from atoll.apiserver.applying import (
    Writer,
    after_apply,
    after_scale,
    after_update,
    scale_entries,
)
from atoll.apiserver.schemas.defaulting import compile_defaults
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.schemas.structural import root_schema
from atoll.apiserver.status import ApiError

Json = dict[str, Any]

RECORDED = Path(__file__).parent / "recorded"
VERSIONS = {"Deployment": "apps/v1", "Shape": "rec.example.io/v1"}
# What the server fills in after it has settled ownership.
LATE = {"spec": ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")}


def schema_of(kind: str) -> Schema:
    if kind == "Shape":
        version = CRD["spec"]["versions"][0]
        return root_schema(version["schema"]["openAPIV3Schema"], kind)
    group = "apps" if kind == "Deployment" else "core"
    return load().schema(f"io.k8s.api.{group}.v1.{kind}")


def ignored_at(kind: str, subresource: str) -> tuple[tuple[str, ...], ...]:
    if kind == "ConfigMap":
        return ()
    if not subresource:
        return (("status",),)
    return (("spec",), ("metadata",)) if kind == "Shape" else (("spec",), ("metadata", "labels"))


def recorded_steps() -> list[Any]:
    params = []
    for scenario in SCENARIOS:
        recorded = json.loads((RECORDED / f"{scenario['name']}.json").read_text())
        live = None
        for number, step in enumerate(recorded):
            case = f"{scenario['name']}-{number}-{step['verb']}-by-{step['manager']}"
            params.append(pytest.param(scenario["kind"], live, step, id=case))
            live = step.get("object", live)
    return params


def before_late(obj: Json) -> Json:
    """The object without what is filled in late, when it is created."""
    spec = {k: v for k, v in obj.get("spec", {}).items() if k not in LATE["spec"]}
    metadata = {k: v for k, v in obj["metadata"].items() if k != "managedFields"}
    return {**obj, "metadata": metadata, **({"spec": spec} if spec else {})}


def run_scale(live: Json, step: Json) -> Json:
    """Write to the object's Scale, and bring the owners back to the object."""
    schema = load().schema("io.k8s.api.autoscaling.v1.Scale")
    path = ("spec", "replicas")
    meta = {"name": live["metadata"]["name"], "namespace": "default"}
    view = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {**meta, "managedFields": scale_entries(live, path)},
        "spec": {"replicas": live["spec"]["replicas"]},
    }
    writer = Writer(step["manager"], "autoscaling/v1", "scale")
    if step["verb"] == "apply":
        force = step.get("force", False)
        written = after_apply(schema, view, step["body"], writer, step["now"], force=force)
    else:
        new = {**view, "metadata": meta, "spec": step["body"]["spec"]}
        written = after_update(schema, view, new, writer, step["now"])
    return after_scale(live, written, path, "apps/v1")


def run(kind: str, live: Json | None, step: Json) -> Json:
    if live is not None and step.get("subresource") == "scale":
        return run_scale(live, step)
    writer = Writer(step["manager"], VERSIONS.get(kind, "v1"), step.get("subresource", ""))
    ignored = ignored_at(kind, writer.subresource)
    if step["verb"] == "apply":
        force = step.get("force", False)
        return after_apply(
            schema_of(kind), live, step["body"], writer, step["now"], force=force, ignored=ignored
        )
    new = before_late(step["object"]) if live is None else dict(step["object"])
    sent = step["body"].get("metadata", {}) if isinstance(step["body"], dict) else {}
    fields = sent.get("managedFields") or ([] if "managedFields" in sent else None)
    new["metadata"] = {k: v for k, v in new["metadata"].items() if k != "managedFields"}
    if fields is not None:
        new["metadata"]["managedFields"] = fields
    return after_update(schema_of(kind), live, new, writer, step["now"], ignored=ignored)


def owners(obj: Json, *, sort: bool = False) -> str:
    """The entries as text, so that the order of their keys counts, unless they are sorted."""
    return json.dumps(obj["metadata"].get("managedFields"), indent=1, sort_keys=sort)


def filled_in(ours: Any, theirs: Any) -> Any:
    """Theirs, less what only they have: what is left must equal ours."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return {k: filled_in(ours[k], v) for k, v in theirs.items() if k in ours}
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [filled_in(one, other) for one, other in zip(ours, theirs, strict=True)]
    return theirs


def decoded(value: Any) -> Any:
    """The value as Go reads it: null is the empty string in a map of strings, else it is absent."""
    if isinstance(value, dict) and value:
        strings = any(isinstance(child, str) for child in value.values())
        filled = {k: "" if v is None and strings else decoded(v) for k, v in value.items()}
        return {k: v for k, v in filled.items() if v is not None}
    return value or None


def in_any_order(refused: Json) -> Json:
    """Go walks maps in an order of its own, so several errors may come in any."""
    return {**refused, "message": sorted(refused["message"].splitlines())}


def refused_by_validation(step: Json) -> bool:
    """Whether the step was refused only after it was merged."""
    return bool(step.get("refused", {}).get("code") == 422)


@pytest.mark.parametrize(("kind", "live", "step"), recorded_steps())
def test_a_step_ends_as_it_did_in_kubernetes(kind: str, live: Json | None, step: Json) -> None:
    before = json.dumps([live, step])
    if refused_by_validation(step):
        assert run(kind, live, step)["metadata"]["managedFields"]
    elif "refused" in step:
        with pytest.raises(ApiError) as refusal:
            run(kind, live, step)
        told = refusal.value.status()
        assert in_any_order({key: told.get(key) for key in step["refused"]}) == in_any_order(
            step["refused"]
        )
    else:
        # Go writes what it does not know the type of with its keys sorted.
        result = run(kind, live, step)
        assert owners(result, sort=kind == "Shape") == owners(step["object"])
    assert json.dumps([live, step]) == before, "no input may change"


def taken(step: Json) -> bool:
    scaled = step.get("subresource") == "scale"
    return step["verb"] == "apply" and "refused" not in step and not scaled


@pytest.mark.parametrize(
    ("kind", "live", "step"),
    [param for param in recorded_steps() if taken(param.values[2])],
)
def test_an_applied_object_is_what_kubernetes_made_of_it(
    kind: str, live: Json | None, step: Json
) -> None:
    ours, theirs = run(kind, live, step), step["object"]
    # Each endpoint takes its own side of the object only.
    side = "status" if "subresource" in step else "data" if kind == "ConfigMap" else "spec"
    if kind == "Shape":
        fill = compile_defaults(schema_of(kind))
        assert fill is not None
        assert fill(ours).get(side) == theirs.get(side)
    else:
        mine = decoded(ours.get(side))
        assert filled_in(mine, theirs.get(side)) == mine
