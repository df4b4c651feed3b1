"""Whoever creates an object of a built-in kind owns just what it owns in Kubernetes (record.py)."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from atoll.apiserver.applying import Writer, after_update
from atoll.apiserver.kinds.builtin import builtin_resources
from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.schemas.typed import read_typed

Json = dict[str, Any]

HERE = Path(__file__).parent
NOW = "2030-01-01T00:00:00Z"
# What Kubernetes fills in after it has settled ownership, and we with the other defaults.
LATE = ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
# What Kubernetes writes to daemon sets as they are decoded, and we do not.
OBSOLETE = "f:deprecated.daemonset.template.generation"


@cache
def resources() -> dict[tuple[str, str], Resource]:
    return {(r.api_version, r.kind): r for r in builtin_resources(load())}


def samples() -> list[Any]:
    owners = json.loads((HERE / "recorded" / "owners-of-new-objects.json").read_text())
    by_id = {entry["id"]: entry["owners"] for entry in owners}
    read = yaml.safe_load_all((HERE.parent / "kinds" / "samples.yaml").read_text())
    return [
        pytest.param(sample["object"], by_id[sample["id"]], id=sample["id"])
        for sample in read
        if sample["id"] in by_id
    ]


def without_obsolete(owners: Any) -> Any:
    for entry in owners or ():
        if OBSOLETE in entry["fieldsV1"].get("f:metadata", {}).get("f:annotations", {}):
            del entry["fieldsV1"]["f:metadata"]
    return owners


@pytest.mark.parametrize(("sent", "owners"), samples())
def test_the_creator_owns_what_it_owns_in_kubernetes(sent: Json, owners: Any) -> None:
    resource = resources()[sent["apiVersion"], sent["kind"]]
    new, _ = read_typed(resource.schema, json.loads(json.dumps(sent)))
    resource.strategy.default(new)
    for key in LATE:
        new.get("spec", {}).pop(key, None)
    ignored = (("status",),) if resource.strategy.has_status else ()
    writer = Writer("creator", resource.api_version)
    result = after_update(resource.schema, None, new, writer, NOW, ignored=ignored)
    ours = result["metadata"].get("managedFields")
    assert json.dumps(ours, indent=1) == json.dumps(without_obsolete(owners), indent=1)
