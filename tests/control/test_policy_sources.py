"""Dialects beside each other: one claim at most, no template taken across, none sent astray."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from detection_world import CLAIMS, World, make_policy, make_template, read

from atoll.control.detector.decide.choosing import choose
from atoll.control.detector.decide.plan import NOT_APPLIED, SeenTemplate, plan
from atoll.dialects.karmada.policy_source import KARMADA
from atoll.dialects.policy_source import Claims, PolicySource
from atoll.model.action import NOTHING, Create, Ref, Tell
from atoll.model.policy import Claim, Policy
from atoll.wire import Object

ATOLL = Path(__file__).parents[2] / "atoll"
API, OWNER = "other.example.org/v1", "other.example.org/owner"


def other_claim(name: str) -> Claim:
    return Claim(Ref(API, "Plan", "shop", name), (), ((OWNER, name),))


def other_claim_of(wire: Object) -> Claim | None:
    name = (wire["metadata"].get("annotations") or {}).get(OWNER)
    return other_claim(name) if name else None


OTHER = PolicySource(kinds=(), claim_of=other_claim_of, claim_keys=frozenset({OWNER}))
BOTH = Claims([KARMADA, OTHER])


def other(name: str, **more: Any) -> Policy:
    """A policy of another dialect, for all that one of Karmada's would select."""
    made = make_policy(name)
    metadata = {**made["metadata"], "uid": f"uid-{name}"}
    wire = {**made, "apiVersion": API, "kind": "Plan", "metadata": metadata}
    return replace(read(wire), claim=other_claim(name), **more)


def test_an_object_carries_one_claim_whatever_dialect_it_is_of() -> None:
    karmada = read(make_policy("p")).claim
    assert karmada is not None
    template = make_template(app="web")
    first = BOTH.claimed(template, karmada)
    second = BOTH.claimed(first, other_claim("q"))
    assert (BOTH.of(first), BOTH.of(second)) == (karmada, other_claim("q"))
    assert KARMADA.claim_of(second) is None
    assert BOTH.claimed(second, karmada) == first
    assert BOTH.released(second) == BOTH.released(first)
    assert BOTH.released(first)["metadata"]["labels"] == {"app": "web"}
    assert BOTH.of(BOTH.released(first)) is None
    assert len({BOTH.digest(each) for each in (template, first, second)}) == 1


@pytest.mark.parametrize("namespace", ["shop", ""], ids=["policy", "cluster-policy"])
def test_nobody_takes_a_template_from_a_policy_of_another_dialect(namespace: str) -> None:
    theirs = other("q", priority=9, preempts=True)
    mine = read(make_policy("p", namespace=namespace))
    choice = choose(make_template(), [mine, theirs], mine.claim, preemption=True)
    assert choice is not None
    assert (choice.claim, choice.rivals) == (mine.claim, (theirs.claim,))
    let_go = choose(make_template(), [mine, theirs], None, preemption=True)
    assert let_go is not None
    assert let_go.claim == theirs.claim


def carrier(template: Object, **more: Any) -> SeenTemplate:
    policy = replace(other("web"), selectors=(), carries=template, **more)
    return SeenTemplate(template, CLAIMS, owner=policy)


def test_a_policy_that_carries_its_template_has_a_binding_that_goes_with_it() -> None:
    made, told = plan(carrier(make_template())).actions
    assert isinstance(made, Create)
    assert isinstance(told, Tell)
    [owner] = made.object["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Plan", "web")
    assert made.object["spec"]["resource"]["kind"] == "Deployment"
    assert told.about["kind"] == "Plan"
    again = replace(carrier(make_template()), binding=made.object)
    assert plan(again) == NOTHING


def test_a_policy_of_a_namespace_carries_nothing_outside_of_it() -> None:
    [told] = plan(carrier(make_template(namespace="bank"))).actions
    assert isinstance(told, Tell)
    assert (told.reason, told.warning) == (NOT_APPLIED, True)
    assert "outside of it, as in bank" in told.message


@pytest.mark.parametrize(
    "carried",
    [
        pytest.param({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work"}, id="a-work"),
        pytest.param({"apiVersion": "v1", "kind": "Event"}, id="an-event"),
    ],
)
def test_what_is_never_propagated_is_not_carried_either(carried: Object) -> None:
    [told] = plan(carrier({**make_template(), **carried})).actions
    assert isinstance(told, Tell)
    assert told.message.endswith("is nothing that may be propagated")


def test_a_policy_that_cannot_be_read_is_not_applied_and_takes_nothing_back() -> None:
    world = World(make_template(), make_policy("p")).settle()
    [ref] = [each for each in world.objects if each.kind == "Deployment"]
    before = world.binding(ref)
    world.put(make_policy("p", suspension="now"))
    world.settle()
    assert "ApplyPolicyFailed" in world.told
    assert world.claims(ref) == ("p", "p")
    assert world.binding(ref) == before


@pytest.mark.parametrize("folder", ["detector", "policies", "idle_policies"])
def test_who_works_on_policies_names_no_kind_of_a_dialect(folder: str) -> None:
    kinds = [each.kind for each in KARMADA.kinds] + [kind for _, kind in KARMADA.awaited]
    sources = [each.read_text() for each in sorted((ATOLL / "control" / folder).rglob("*.py"))]
    assert sources
    assert not [kind for kind in kinds for text in sources if f'"{kind}"' in text]
    assert not [text for text in sources if "karmada.objects" in text or "KARMADA" in text]
