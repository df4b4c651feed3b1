"""Policies that hold nothing: what their owners are told, and when."""

from typing import Any

import pytest

from atoll.control.idle_policies import decide as idle
from atoll.control.idle_policies.decide import MOMENT_S
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects.policies import decode_propagation
from atoll.dialects.karmada.policy_source import KARMADA
from atoll.dialects.policy_source import Claims
from atoll.model.action import NOTHING, Plan, Tell
from atoll.wire import Wire

CLAIMS = Claims([KARMADA])
SINCE = 1_767_225_600.0
LATER = SINCE + MOMENT_S


def policy(*selectors: Wire, name: str = "mine", namespace: str = "shop") -> Wire:
    kind, key = "PropagationPolicy", names.POLICY_ID
    if not namespace:
        kind, key = "ClusterPropagationPolicy", names.CLUSTER_POLICY_ID
    metadata = {"name": name, "uid": f"uid-of-{name}", "labels": {key: f"id-of-{name}"}}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": kind,
        "metadata": {**metadata, **({"namespace": namespace} if namespace else {})},
        "spec": {"resourceSelectors": list(selectors or [selector()])},
    }


def selector(kind: str = "Deployment", **more: Any) -> Wire:
    return {"apiVersion": "apps/v1", "kind": kind, **more}


def template(name: str, holder: str = "") -> Wire:
    metadata: Wire = {"namespace": "shop", "name": name}
    if holder:
        metadata["labels"] = {names.POLICY_ID: f"id-of-{holder}"}
        metadata["annotations"] = {names.POLICY_NAMESPACE: "shop", names.POLICY_NAME: holder}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}


def seen_policy(
    wire: Wire, since: float, found: list[Wire] | None = None, **where: list[Wire]
) -> idle.SeenPolicy:
    """`where`: the selectors that are for kinds that are not there, or without namespaces."""
    read = decode_propagation(wire)
    known = dict(zip(map(str, wire["spec"]["resourceSelectors"]), read.selectors, strict=False))
    selectors = {name: [known[str(each)] for each in some] for name, some in where.items()}
    return idle.SeenPolicy(read, since, CLAIMS, found or [], **selectors)


def told(seen: idle.SeenPolicy) -> tuple[str, str]:
    [event] = idle.plan(seen, LATER).actions
    assert isinstance(event, Tell)
    assert event.warning
    assert event.about == seen.policy.wire
    return event.reason, event.message


def test_a_policy_that_has_just_come_is_given_a_moment() -> None:
    seen = seen_policy(policy(), SINCE)
    assert idle.plan(seen, SINCE + 1) == Plan(again_in=MOMENT_S - 1)


NOTHING_FOUND = [
    pytest.param(selector(), "there is no Deployment of apps/v1 in namespace shop", id="a kind"),
    pytest.param(
        selector(name="ngnix"),
        "there is no Deployment of apps/v1 named ngnix in namespace shop",
        id="a name",
    ),
    pytest.param(
        selector(labelSelector={"matchLabels": {"app": "x"}}),
        "there is no Deployment of apps/v1 with such labels in namespace shop",
        id="labels",
    ),
    pytest.param(
        selector(namespace="other"),
        "a PropagationPolicy selects nothing outside its own namespace, as in other",
        id="another namespace",
    ),
]


@pytest.mark.parametrize(("asked", "said"), NOTHING_FOUND)
def test_a_policy_that_finds_nothing_says_what_it_looked_for(asked: Wire, said: str) -> None:
    message = f"this policy has no effect yet: {said}"
    assert told(seen_policy(policy(asked), SINCE)) == ("NothingSelected", message)


def test_every_selector_is_named_and_a_kind_that_is_not_there_is_called_so() -> None:
    asked = (selector(), selector("Deploymnet"))
    _, message = told(seen_policy(policy(*asked), SINCE, unknown=list(asked[1:])))
    assert message.endswith(
        "there is no Deployment of apps/v1 in namespace shop; "
        "this plane has no kind Deploymnet of apps/v1 to propagate"
    )


def test_a_policy_of_a_namespace_is_told_that_it_cannot_select_what_has_none() -> None:
    asked = selector("ClusterRole")
    _, message = told(seen_policy(policy(asked), SINCE, cluster_wide=[asked]))
    assert message.endswith(
        "ClusterRole is a kind without namespaces, which only a cluster-wide policy selects"
    )
    _, message = told(seen_policy(policy(asked, namespace=""), SINCE, cluster_wide=[asked]))
    assert message.endswith("there is no ClusterRole of apps/v1")


def test_a_cluster_wide_policy_looks_everywhere() -> None:
    _, message = told(seen_policy(policy(selector(), namespace=""), SINCE))
    assert message.endswith("there is no Deployment of apps/v1")


def test_a_policy_whose_templates_all_belong_to_others_says_to_whom() -> None:
    found = [template("a", "one"), template("b", "two")]
    reason, message = told(seen_policy(policy(), SINCE, found))
    assert reason == "HeldByOthers"
    assert "Deployment shop/a is held by policy shop/one" in message
    assert "Deployment shop/b is held by policy shop/two" in message


def test_of_many_templates_a_few_are_named() -> None:
    found = [template(f"t{number}", "one") for number in range(40)]
    _, message = told(seen_policy(policy(), SINCE, found))
    assert "and 37 more" in message
    assert len(message) < 400


QUIET = [
    pytest.param([template("a", "mine")], id="it holds what it selects"),
    pytest.param([template("a", "one"), template("b", "mine")], id="it holds a part of it"),
    pytest.param([template("a", "one"), template("b")], id="something is yet to be claimed"),
]


@pytest.mark.parametrize("found", QUIET)
def test_there_is_nothing_to_tell(found: list[Wire]) -> None:
    assert idle.plan(seen_policy(policy(), SINCE, found), LATER) == NOTHING


def test_nothing_is_told_of_a_policy_that_goes() -> None:
    leaving = policy()
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert idle.plan(seen_policy(leaving, SINCE), LATER) == NOTHING
