"""Rules of custom resources in CEL: what they say of values, and what is said of them.

The table in expressions.json was recorded from kube-apiserver. One definition has a field for every
rule, so that one object is asked about all of them.
"""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from backends import Answer, Backend

from atoll.wire import Wire

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "rules.example.com"
TABLE: Wire = json.loads(Path(__file__).with_name("expressions.json").read_text())
KEPT: list[Wire] = TABLE["kept"]
COMPILED: list[Wire] = TABLE["compiled"]
RULES = "x-kubernetes-validations"


def definition(kind: str, root: Wire, **version: Any) -> Wire:
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", **root}},
                    **version,
                }
            ],
        },
    }


def of_spec(spec: Wire) -> Wire:
    return {"properties": {"spec": spec}}


def served(api: Backend, made: Wire) -> str:
    """Create a definition, and wait until objects of its kind can be written."""
    api.create(CRDS, made)
    names = made["spec"]["names"]
    path = f"/apis/{GROUP}/v1/{names['plural']}"
    probe = {"apiVersion": f"{GROUP}/v1", "kind": names["kind"], "metadata": {"name": "probe"}}
    deadline = time.monotonic() + 120
    while api.request("GET", path).status != 200 or api.request(
        "POST", f"{path}?dryRun=All", body=probe
    ).status not in (201, 422):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return path


def thing(kind: str, spec: Any, name: str = "x") -> Wire:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def causes(answer: Answer) -> list[tuple[str, str, str]]:
    details = answer.refusal(422, "Invalid")
    return [(cause["field"], cause["reason"], cause["message"]) for cause in details["causes"]]


@pytest.fixture(scope="module")
def told(api: Backend) -> Iterator[dict[str, Wire]]:
    """What the server says of one object with all values of the table, by field."""
    fields = {f"c{i}": {**case["schema"], RULES: [case["rule"]]} for i, case in enumerate(KEPT)}
    made = definition("Table", of_spec({"type": "object", "properties": fields}))
    path = served(api, made)
    values = {f"c{index}": case["value"] for index, case in enumerate(KEPT)}
    answer = api.request("POST", path, body=thing("Table", values))
    yield {cause["field"]: cause for cause in answer.refusal(422, "Invalid")["causes"]}
    api.delete(f"{CRDS}/{made['metadata']['name']}")


@pytest.mark.parametrize("index", range(len(KEPT)), ids=[case["rule"]["rule"] for case in KEPT])
def test_a_rule_says_the_same_of_a_value(told: dict[str, Wire], index: int) -> None:
    case = KEPT[index]
    found = told.get(f"spec.c{index}{case['field']}")
    assert (found and found["message"]) == case["says"]
    assert found is None or found["reason"] == case["reason"]


@pytest.fixture(scope="module")
def judged(api: Backend) -> dict[str, str]:
    """What the server says of a definition with all rules of the table, by field."""
    fields = {
        f"c{i}": {**c["schema"], RULES: [{"rule": c["rule"]}]} for i, c in enumerate(COMPILED)
    }
    made = definition("Judged", of_spec({"type": "object", "properties": fields}))
    answer = api.request("POST", CRDS, body=made)
    places = {}
    for field, reason, message in causes(answer):
        place = re.search(r"\[(c[0-9]+)\]\.x-kubernetes-validations\[0\]\.rule$", field)
        if place and reason == "FieldValueInvalid":
            places[place[1]] = re.sub("selfType[0-9]+", "self", message)
    return places


@pytest.mark.parametrize("index", range(len(COMPILED)), ids=[case["rule"] for case in COMPILED])
def test_a_rule_is_judged_the_same(judged: dict[str, str], index: int) -> None:
    case = COMPILED[index]
    found = judged.get(f"c{index}")
    sent = {"Rule": case["rule"], "Message": "", "MessageExpression": "", "Reason": None}
    shown = json.dumps(
        {**sent, "FieldPath": "", "OptionalOldSelf": None},
        separators=(",", ":"),
        ensure_ascii=False,
    )
    for character in "&<>":
        shown = shown.replace(character, f"\\u{ord(character):04x}")
    expected = case["fault"] and f"Invalid value: {shown}: {case['fault']}"
    assert found == expected


def test_a_rule_that_might_take_too_long_is_refused(api: Backend) -> None:
    rule = {"rule": "self.all(a, self.all(b, self.all(c, a != b || b != c)))"}
    endless = {"type": "array", "items": {"type": "string"}, RULES: [rule]}
    made = definition("Endless", of_spec({"type": "object", "properties": {"x": endless}}))
    answer = api.request("POST", f"{CRDS}?dryRun=All", body=made)
    assert "estimated rule cost exceeds budget" in answer.json()["message"]


def test_a_rule_that_takes_too_long_is_ended(api: Backend) -> None:
    numbers = {"type": "array", "maxItems": 300, "items": {"type": "integer"}}
    rule = {"rule": "self.all(a, self.all(b, a + b >= 0 && a - b <= 1000000 && a * b >= 0))"}
    fields = {"x": {**numbers, RULES: [rule]}}
    made = definition("Long", of_spec({"type": "object", "properties": fields}))
    path = served(api, made)
    short = api.request("POST", path, body=thing("Long", {"x": [1, 2, 3]}))
    long = api.request("POST", path, body=thing("Long", {"x": list(range(300))}, "y"))
    api.delete(f"{CRDS}/{made['metadata']['name']}")
    assert short.status == 201
    ((field, _, message),) = causes(long)
    assert field == "spec.x"
    assert "no further validation rules will be run due to call cost exceeds limit" in message
