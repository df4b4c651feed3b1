"""Our decoding, pruning, defaulting and validation, held against what a real kube-apiserver said.

The answers in recorded/ are those of Kubernetes 1.36.4 (see schemas_record.py); where we differ on
purpose is in test_schemas_differences.py. Go walks maps in random order, so the errors of one
object are compared in any order.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from schemas_cases import JSON, bodies
from schemas_definitions import DEFINITIONS
from schemas_gadgets import CRD, make_gadget, specs

from atoll.apiserver.bodies.decoding import Validation, decode_body
from atoll.apiserver.custom import resources_of
from atoll.apiserver.kinds.definitions import DEFINITION
from atoll.apiserver.resource import Resource, Strategy
from atoll.apiserver.schemas.definitions import definition_errors
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.status import ApiError

Json = dict[str, Any]

RECORDED = Path(__file__).parent / "recorded"
GADGETS = resources_of(CRD)[0]


def builtin(kind: str) -> Resource:
    known = next(one for one in load().kinds if one.kind == kind)
    return Resource(
        group=known.group,
        version=known.version,
        kind=known.kind,
        plural=known.plural,
        singular=known.singular,
        namespaced=known.namespaced,
        schema=load().schema(known.definition),
        strategy=Strategy(),
        stored_version=known.version,
        list_kind=f"{known.kind}List",
    )


def recorded(name: str) -> list[Any]:
    answers = json.loads((RECORDED / f"{name}.json").read_text())
    return [pytest.param(case, answer, id=case) for case, answer in answers.items()]


def decoded(kind: str, media_type: str, body: str, validation: Validation = "Strict") -> Json:
    resource = GADGETS if kind == "Gadget" else builtin(kind)
    obj = dict(decode_body(body.encode(), media_type, resource, validation=validation).object)
    resource.strategy.default(obj)
    return obj


def in_any_order(causes: list[Json]) -> list[Json]:
    return sorted(causes, key=lambda cause: sorted(cause.items()))


@pytest.mark.parametrize(("case", "answer"), recorded("bodies"))
def test_a_body_is_read_as_kubernetes_reads_it(case: str, answer: Json) -> None:
    kind, media_type, body = bodies()[case]
    if answer["status"] == 400:
        with pytest.raises(ApiError) as refusal:
            decoded(kind, media_type, body)
        assert refusal.value.message == answer["message"]
        return
    obj = decoded(kind, media_type, body)
    if answer["status"] == 201 and kind != "Deployment":
        wanted = {key: answer[key] for key in ("data", "binaryData", "spec") if key in answer}
        # A field that Go always has is there for us only once it is filled in.
        assert {key: obj.get(key, {}) for key in wanted} == wanted


@pytest.mark.parametrize("validation", ["Strict", "Ignore"])
@pytest.mark.parametrize("case", specs())
def test_a_custom_object_is_pruned_defaulted_and_checked_as_kubernetes_does(
    case: str, validation: Validation
) -> None:
    answer = ANSWERS[validation][case]
    body = json.dumps(make_gadget(specs()[case]))
    if answer["status"] == 400:
        with pytest.raises(ApiError) as refusal:
            decoded("Gadget", JSON, body, validation)
        assert refusal.value.message == answer["message"]
        return
    obj = decoded("Gadget", JSON, body, validation)
    errors = GADGETS.strategy.errors(obj)
    causes = [error.cause() for error in errors]
    assert in_any_order(causes) == in_any_order(answer.get("causes", []))
    if answer["status"] == 201:
        assert obj["spec"] == answer["spec"]


ANSWERS = {
    validation: json.loads((RECORDED / f"specs-{validation.lower()}.json").read_text())
    for validation in ("Strict", "Ignore")
}


@pytest.mark.parametrize(("case", "answer"), recorded("definitions"))
def test_a_definition_is_held_to_the_rules_of_kubernetes(case: str, answer: Json) -> None:
    body = json.dumps(DEFINITIONS[case])
    if answer["status"] == 400:
        with pytest.raises(ApiError) as refusal:
            decoded("CustomResourceDefinition", JSON, body, "Warn")
        assert refusal.value.message == answer["message"]
        return
    definition = decoded("CustomResourceDefinition", JSON, body, "Warn")
    DEFINITION.default(definition)
    DEFINITION.prepare_create(definition)
    errors = definition_errors(definition)
    causes = [error.cause() for error in errors]
    assert in_any_order(causes) == in_any_order(answer.get("causes", []))
