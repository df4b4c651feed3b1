"""Which webhook is asked about what, and what its responses mean."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreting_builders import make, make_items

from atoll.dialects.patches import patched_by_all
from atoll.errors import Invalid
from atoll.interpreting.builtin import NATIVE
from atoll.interpreting.operations import Dependency, Interpreters, Operation
from atoll.interpreting.webhooks import Hook, Reply, Webhooks, hooks, problem_of
from atoll.model.action import Ref
from atoll.model.health import Health
from atoll.wire import Wire

WIDGET = ("example.io/v1", "Widget")


def hook(name: str, *operations: str, kinds: tuple[str, ...] = ("Widget",), **more: Any) -> Wire:
    rule = {
        "operations": list(operations),
        "apiGroups": ["example.io"],
        "apiVersions": ["*"],
        "kinds": list(kinds),
        **more,
    }
    return {"name": name, "rules": [rule]}


def configuration(name: str, *listed: Wire) -> Wire:
    return {"metadata": {"name": name}, "webhooks": list(listed)}


def answering(**response: Any) -> tuple[Interpreters, list[Wire]]:
    """Interpreters with one webhook that always answers this, and what it was asked."""
    asked: list[Wire] = []

    def call(_: Hook, request: Wire) -> Reply:
        asked.append(request)
        return Reply({"successful": True, **response})

    known = hooks([configuration("c", hook("w", "*"))])
    return Interpreters((Webhooks(known, call), NATIVE)), asked


def patch(*operations: Wire) -> Wire:
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"patchType": "JSONPatch", "patch": text}


@pytest.mark.parametrize(
    ("rule", "kind", "is_asked"),
    [
        pytest.param({}, WIDGET, True, id="exactly"),
        pytest.param({}, ("example.io/v2", "Widget"), True, id="any version"),
        pytest.param({}, ("example.com/v1", "Widget"), False, id="another group"),
        pytest.param({}, ("example.io/v1", "Gadget"), False, id="another kind"),
        pytest.param({"kinds": ["*"]}, ("example.io/v1", "Gadget"), True, id="any kind"),
        pytest.param({"apiGroups": [""]}, ("v1", "Widget"), True, id="the core group"),
        pytest.param({"apiVersions": ["v2"]}, WIDGET, False, id="another version"),
    ],
)
def test_rules_say_which_kinds(rule: Wire, kind: tuple[str, str], *, is_asked: bool) -> None:
    wire = hook("w", "InterpretHealth")
    wire["rules"][0].update(rule)
    (found,) = hooks([configuration("c", wire)])
    assert found.is_for(kind) is is_asked
    assert found.is_for(kind, "InterpretHealth") is is_asked
    assert not found.is_for(kind, "Retain")


def test_the_first_by_configuration_and_name_answers_each_operation() -> None:
    asked: list[tuple[str, str]] = []

    def call(found: Hook, request: Wire) -> Reply:
        asked.append((found.name, request["operation"]))
        return Reply({"healthy": True, "rawStatus": {}})

    configurations = [
        configuration("b", hook("a", "*")),
        configuration("a", hook("z", "InterpretHealth"), hook("b", "InterpretHealth")),
    ]
    known = Interpreters((Webhooks(hooks(configurations), call),))
    known.health(make(WIDGET))
    known.reflect(make(WIDGET))
    assert asked == [("a/b", "InterpretHealth"), ("b/a", "InterpretStatus")]
    assert known.has(Ref(*WIDGET), Operation.HEALTH)
    assert not known.has(Ref("v1", "Pod"), Operation.HEALTH)


def test_requests_say_what_is_asked_about() -> None:
    known, asked = answering()
    desired, observed = make(WIDGET, spec={"a": 1}), make(WIDGET, spec={"a": 2})
    assert known.retain(desired, observed) == desired
    known.revise(desired, 3)
    known.aggregate(desired, make_items(m1={"ready": 1}))
    kind = {"group": "example.io", "version": "v1", "kind": "Widget"}
    assert [each["operation"] for each in asked] == ["Retain", "ReviseReplica", "AggregateStatus"]
    assert all(each["kind"] == kind and each["object"] == desired for each in asked)
    assert [each["replicas"] for each in asked] == [0, 3, 0]
    assert asked[0]["observedObject"] == observed
    assert asked[2]["aggregatedStatus"][0]["status"] == {"ready": 1}


def test_answers_are_understood() -> None:
    needs = {"resourceRequest": {"cpu": "0.5"}}
    found = answering(replicas=3, replicaRequirements=needs)[0].replicas(make(WIDGET))
    assert found is not None
    assert (found.count, found.requirements) == (3, {"resourceRequest": {"cpu": "500m"}})
    known, _ = answering(**patch({"op": "add", "path": "/spec", "value": {"n": 2}}))
    assert known.revise(make(WIDGET), 2)["spec"] == {"n": 2}
    known, _ = answering(**patch({"op": "add", "path": "/status", "value": {"n": 2}}))
    assert known.aggregate(make(WIDGET), ()) == {"n": 2}
    assert answering(healthy=False)[0].health(make(WIDGET)) is Health.UNHEALTHY
    assert answering(rawStatus={"n": 1})[0].reflect(make(WIDGET)) == {"n": 1}
    secret = {"apiVersion": "v1", "kind": "Secret", "namespace": "shop", "name": "s"}
    known, _ = answering(dependencies=[secret, secret])
    assert known.dependencies(make(WIDGET)) == (Dependency("v1", "Secret", "shop", "s"),)
    component = {"name": "head", "replicas": 1}
    assert answering(components=[component])[0].components(make(WIDGET)) == (component,)


@pytest.mark.parametrize(
    ("operation", "response", "said"),
    [
        ("replicas", {"replicas": -1}, "response.replicas: -1"),
        ("replicas", {"replicas": 1, "replicaRequirements": 3}, "replicaRequirements: 3"),
        ("components", {"components": [{}]}, "components[0].name"),
        ("dependencies", {"dependencies": [{"name": "x"}]}, "dependencies[0].apiVersion"),
        ("health", {"healthy": "yes"}, "response.healthy: 'yes'"),
        ("reflect", {"rawStatus": 3}, "response.rawStatus: 3"),
        ("revise", {"patch": "???", "patchType": "JSONPatch"}, "must be JSON in base64"),
        ("revise", patch({"op": "remove", "path": "/nothing"}), "patch[0].path"),
        ("revise", patch({"op": "jump", "path": "/x"}), "patch[0].op: 'jump'"),
        (
            "revise",
            patch({"op": "replace", "path": "/metadata/name", "value": "other"}),
            "must not change what the object is",
        ),
        ("aggregate", patch({"op": "add", "path": "/status", "value": 1}), "status: 1"),
    ],
)
def test_nonsense_is_said_to_be_so_by_name(operation: str, response: Wire, said: str) -> None:
    known, _ = answering(**response)
    more = {"revise": (1,), "aggregate": ((),)}.get(operation, ())
    with pytest.raises(Invalid) as caught:
        getattr(known, operation)(make(WIDGET), *more)
    assert caught.value.field == "ResourceInterpreterWebhookConfiguration/c/w"
    assert said in caught.value.problem


def test_a_webhook_that_does_not_answer_is_named_with_the_cause() -> None:
    known = hooks([configuration("c", hook("w", "*"))])
    silent = Interpreters((Webhooks(known, lambda *_: Reply({}, "did not answer")), NATIVE))
    with pytest.raises(Invalid, match="c/w: 'InterpretHealth': did not answer"):
        silent.health(make(WIDGET))


@pytest.mark.parametrize(
    ("operation", "response", "problem"),
    [
        ("InterpretReplica", {"successful": True, "replicas": 0}, ""),
        ("InterpretReplica", {"successful": True}, "response.replicas must be given"),
        ("InterpretHealth", {"successful": True}, "response.healthy must be given"),
        ("InterpretStatus", {"successful": True}, "response.rawStatus must be given"),
        ("InterpretDependency", {"successful": True}, ""),
        ("Retain", {"successful": True}, ""),
        ("Retain", {"successful": True, "patch": "W10="}, "with patchType JSONPatch, not None"),
        ("Retain", {"successful": True, "patchType": "JSONPatch"}, "response.patch must be"),
        ("Retain", {}, "response.status must be given"),
        ("Retain", {"successful": False, "status": {"code": 5, "message": "x"}}, "code 5: x"),
    ],
)
def test_responses_that_are_no_answer(operation: str, response: Wire, problem: str) -> None:
    found = problem_of(operation, response)
    assert problem in found
    assert bool(found) is bool(problem)


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "copy", "from": "/a/b", "path": "/c"}], {"a": {"b": 1}, "c": 1}),
        ([{"op": "move", "from": "/a/b", "path": "/c"}], {"a": {}, "c": 1}),
        ([{"op": "test", "path": "/a/b", "value": 1}], {"a": {"b": 1}}),
        ([{"op": "remove", "path": "/a"}, {"op": "add", "path": "/z", "value": []}], {"z": []}),
    ],
)
def test_patches_have_all_their_operations(operations: list[Wire], expected: Wire) -> None:
    assert patched_by_all({"a": {"b": 1}}, operations, "patch") == expected


def test_a_test_that_does_not_hold_refuses_the_patch() -> None:
    with pytest.raises(Invalid, match="not what stands there"):
        patched_by_all({"a": 1}, [{"op": "test", "path": "/a", "value": 2}], "patch")


ANSWERS = ("replicas", "replicaRequirements", "components", "dependencies", "healthy", "rawStatus")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
PATCH = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "copy", "move", "test"]),
            "path": st.sampled_from(["", "/spec", "/spec/a/b", "/metadata/name", "x", "/-"]),
        },
        optional={"value": JSON, "from": st.sampled_from(["/spec", "/kind", "/x"])},
    ),
    max_size=3,
)
RESPONSES = st.dictionaries(st.sampled_from((*ANSWERS, "patch", "patchType")), JSON) | PATCH.map(
    lambda operations: patch(*operations)
)


@settings(max_examples=60, deadline=None)
@given(response=RESPONSES)
def test_whatever_a_webhook_says_it_is_named_with_what_is_wrong(response: Wire) -> None:
    known, _ = answering(**response)
    wire = make(WIDGET, spec={"a": [1]})
    asked = {
        **dict.fromkeys(("replicas", "components", "dependencies", "health", "reflect"), ()),
        "revise": (1,),
        "retain": (wire,),
        "aggregate": ((),),
    }
    for operation, more in asked.items():
        try:
            getattr(known, operation)(wire, *more)
        except Invalid as error:
            named = error.field
        else:
            named = "ResourceInterpreterWebhookConfiguration/c/w"
        assert named == "ResourceInterpreterWebhookConfiguration/c/w"
