"""Admission policies: what they refuse, warn of and change, and what they can speak of."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from backends import Answer, Backend
from manifests import configmap

from atoll.wire import Wire

ROOT = "/apis/admissionregistration.k8s.io/v1"
VALIDATING = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
MUTATING = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
Enforce = Callable[..., str]


def _plural(kind: str) -> str:
    return (
        "policies".join(kind.lower().rsplit("policy", 1)) if kind[-1] == "y" else f"{kind}s".lower()
    )


def made(kind: str, name: str, spec: Wire) -> Wire:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def about(resource: str = "configmaps", *operations: str) -> Wire:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": list(operations) or ["CREATE", "UPDATE"],
        "resources": [resource],
    }
    return {"resourceRules": [rule]}


def in_namespace(name: str) -> Wire:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


@pytest.fixture
def enforce(api: Backend, namespace: str, unique: str) -> Iterator[Enforce]:
    """Puts a policy in force in the test's own namespace, and waits until it is."""
    there: list[str] = []

    def put(kinds: tuple[str, str], spec: Wire, binding: Wire | None = None) -> str:
        policy, bound = kinds
        name = f"{unique}-{len(there)}.example.com"
        match = {**about(), **spec.get("matchConstraints", {})}
        whole = {"failurePolicy": "Fail", **spec, "matchConstraints": match}
        actions = {"validationActions": ["Deny"]} if kinds is VALIDATING else {}
        made_binding = {
            "policyName": name,
            "matchResources": in_namespace(namespace),
            **actions,
            **(binding or {}),
        }
        for kind, said in ((policy, whole), (bound, made_binding)):
            api.create(f"{ROOT}/{_plural(kind)}", made(kind, name, said))
            there.append(f"{ROOT}/{_plural(kind)}/{name}")
        return name

    yield put
    for path in reversed(there):
        api.delete(path)


def until(ask: Callable[[], Answer], holds: Callable[[Answer], bool]) -> Answer:
    """Ask again until a policy is in force: a real server learns of it only after a while."""
    deadline = time.monotonic() + 120
    while True:
        answer = ask()
        if holds(answer):
            return answer
        assert time.monotonic() < deadline, answer.body.decode()
        time.sleep(0.2)


def refused(api: Backend, path: str, obj: Wire) -> Answer:
    return until(
        lambda: api.request("POST", f"{path}?dryRun=All", body=obj),
        lambda answer: answer.status >= 400,
    )


def validation(expression: str, **more: str) -> Wire:
    return {"expression": expression, **more}


def test_a_write_that_breaks_a_policy_is_refused(
    api: Backend, configmaps: str, enforce: Enforce
) -> None:
    name = enforce(VALIDATING, {"validations": [validation("object.data.a == 'b'")]})
    answer = refused(api, configmaps, configmap("x", a="c"))
    why = (
        f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request:"
        " failed expression: object.data.a == 'b'"
    )
    details = answer.refusal(422, "Invalid", f'configmaps "x" is forbidden: {why}')
    assert details == {"name": "x", "kind": "configmaps", "causes": [{"message": why}]}
    api.create(configmaps, configmap("x", a="b"))


CASES: dict[str, tuple[list[Wire], str, int, str]] = {
    "a message": ([validation("false", message=" no ")], "no", 422, "Invalid"),
    "a message that is computed": (
        [validation("false", messageExpression="'no ' + object.metadata.name")],
        "no x",
        422,
        "Invalid",
    ),
    "a message that cannot be computed": (
        [validation("false", message="no", messageExpression="string(object.zz)")],
        "no",
        422,
        "Invalid",
    ),
    "a reason": (
        [validation("false", reason="Forbidden")],
        "failed expression: false",
        403,
        "Forbidden",
    ),
    "an error": (
        [validation("object.data.zz == 'b'")],
        "expression 'object.data.zz == 'b'' resulted in error: no such key: zz",
        422,
        "Invalid",
    ),
    "the first of several": (
        [validation("true"), validation("1 == 2", message="first"), validation("false")],
        "first",
        422,
        "Invalid",
    ),
    "who asks": (
        [validation("false", messageExpression="request.userInfo.groups.join(',')")],
        "system:masters,system:authenticated",
        422,
        "Invalid",
    ),
    "what is asked": (
        [
            validation(
                "false",
                messageExpression="[request.operation, request.resource.resource,"
                " request.kind.kind, request.name, string(request.dryRun)].join(' ')",
            )
        ],
        "CREATE configmaps ConfigMap x true",
        422,
        "Invalid",
    ),
    "no old object": ([validation("oldObject != null", message="new")], "new", 422, "Invalid"),
    "the namespace": (
        [validation("!has(namespaceObject.metadata.labels)", message="labelled")],
        "labelled",
        422,
        "Invalid",
    ),
    "what the caller may do": (
        [
            validation(
                "!authorizer.group('').resource('pods').namespace('a').check('get').allowed()",
                message="may",
            )
        ],
        "may",
        422,
        "Invalid",
    ),
    "what the caller may do here": (
        [validation("!authorizer.requestResource.check('create').allowed()", message="may")],
        "may",
        422,
        "Invalid",
    ),
    "what an account may do": (
        [
            validation(
                "authorizer.serviceAccount('a', 'b').path('/x').check('get').allowed()",
                message="may not",
            )
        ],
        "may not",
        422,
        "Invalid",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_policy_says_why(api: Backend, configmaps: str, enforce: Enforce, case: str) -> None:
    validations, message, code, reason = CASES[case]
    name = enforce(VALIDATING, {"validations": validations})
    answer = refused(api, configmaps, configmap("x", a="c"))
    why = f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {message}"
    details = answer.refusal(code, reason, f'configmaps "x" is forbidden: {why}')
    assert details["causes"] == [{"message": why}]


def test_a_policy_can_only_warn(api: Backend, configmaps: str, enforce: Enforce) -> None:
    failing = {"validations": [validation("false", message="not so nice")]}
    name = enforce(VALIDATING, failing, {"validationActions": ["Warn", "Audit"]})
    answer = until(
        lambda: api.request("POST", f"{configmaps}?dryRun=All", body=configmap("x")),
        lambda answer: bool(answer.warnings),
    )
    assert answer.status == 201
    why = f"Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}'"
    assert f"{why}: not so nice" in answer.warnings


def test_variables_are_found_once_and_in_order(
    api: Backend, configmaps: str, enforce: Enforce
) -> None:
    variables = [
        {"name": "data", "expression": "object.data"},
        {"name": "keys", "expression": "variables.data.map(k, k)"},
        {"name": "unused", "expression": "1 / 0"},
    ]
    rules = [validation("size(variables.keys) > 1", messageExpression="variables.keys.join(',')")]
    enforce(VALIDATING, {"variables": variables, "validations": rules})
    answer = refused(api, configmaps, configmap("x", only="c"))
    assert answer.json()["message"].endswith("denied request: only")


def test_conditions_say_what_a_policy_is_about(
    api: Backend, configmaps: str, enforce: Enforce
) -> None:
    conditions = [{"name": "marked", "expression": "object.metadata.name.startsWith('bad')"}]
    enforce(
        VALIDATING,
        {"matchConditions": conditions, "validations": [validation("false", message="bad")]},
    )
    refused(api, configmaps, configmap("bad-one")).refusal(422, "Invalid")
    assert api.request("POST", configmaps, body=configmap("good")).status == 201


def test_a_policy_that_fails_open_lets_errors_pass(
    api: Backend, configmaps: str, enforce: Enforce
) -> None:
    rules = [validation("object.data.zz == 'b'"), validation("has(object.data)", message="empty")]
    enforce(VALIDATING, {"failurePolicy": "Ignore", "validations": rules})
    answer = refused(api, configmaps, configmap("x") | {"data": None})
    assert answer.json()["message"].endswith("denied request: empty")
    assert api.request("POST", configmaps, body=configmap("y", a="b")).status == 201


def test_updates_and_deletions_are_seen_with_what_was_there(
    api: Backend, configmaps: str, enforce: Enforce
) -> None:
    made_one = api.create(configmaps, configmap("x", a="b"))
    rules = [
        validation(
            "request.operation != 'UPDATE' || object.data == oldObject.data", message="kept"
        ),
        validation("request.operation != 'DELETE' || object != null", message="stays"),
    ]
    match = about("configmaps", "UPDATE", "DELETE")
    enforce(VALIDATING, {"matchConstraints": match, "validations": rules})
    changed = made_one | {"data": {"a": "c"}}
    answer = until(
        lambda: api.request("PUT", f"{configmaps}/x?dryRun=All", body=changed),
        lambda answer: answer.status >= 400,
    )
    assert answer.json()["message"].endswith("denied request: kept")
    answer = api.request("DELETE", f"{configmaps}/x")
    assert answer.json()["message"].endswith("denied request: stays")


@pytest.mark.parametrize("action", ["Deny", "Allow"])
def test_parameters_come_from_the_binding(
    api: Backend, namespace: str, configmaps: str, enforce: Enforce, action: str
) -> None:
    api.create(configmaps, configmap("limits", {"limits": "yes"}, most="2"))
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [
            validation(
                "params == null || size(object.data) <= int(params.data.most)",
                messageExpression="'at most ' + params.data.most",
            )
        ],
    }
    reference = {"name": "limits", "parameterNotFoundAction": action}
    enforce(VALIDATING, spec, {"paramRef": reference})
    answer = refused(api, configmaps, configmap("x", a="1", b="2", c="3"))
    assert answer.json()["message"].endswith("denied request: at most 2")
    api.create(configmaps, configmap("x", a="1"))
    api.delete(f"{configmaps}/limits")
    many = configmap("y", a="1", b="2", c="3")
    wanted = 422 if action == "Deny" else 201
    answer = until(
        lambda: api.request("POST", f"{configmaps}?dryRun=All", body=many),
        lambda answer: answer.status == wanted and "at most" not in answer.body.decode(),
    )
    missing = "no params found for policy binding with `Deny` parameterNotFoundAction"
    assert action == "Allow" or answer.json()["message"].endswith(
        f"denied request: failed to configure binding: {missing}"
    )


def test_parameters_can_be_selected(
    api: Backend, namespace: str, configmaps: str, enforce: Enforce
) -> None:
    for name in ("one", "two"):
        api.create(configmaps, configmap(name, {"limits": "yes"}, never=name))
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [
            validation(
                "object.data.a != params.data.never",
                messageExpression="'never ' + params.data.never",
            )
        ],
    }
    selector = {"matchLabels": {"limits": "yes"}}
    reference = {"selector": selector, "parameterNotFoundAction": "Deny"}
    enforce(VALIDATING, spec, {"paramRef": reference})
    answer = refused(api, configmaps, configmap("x", a="two"))
    assert answer.json()["message"].endswith("denied request: never two")


def mutation(kind: str, expression: str) -> Wire:
    key = "jsonPatch" if kind == "JSONPatch" else "applyConfiguration"
    return {"patchType": kind, key: {"expression": expression}}


MUTATIONS: dict[str, tuple[list[Wire], Wire]] = {
    "applied": (
        [mutation("ApplyConfiguration", 'Object{data: {"added": object.metadata.name}}')],
        {"a": "b", "added": "x"},
    ),
    "applied below": (
        [
            mutation(
                "ApplyConfiguration",
                'Object{metadata: Object.metadata{labels: {"l": "v"}}, data: {"a": "c"}}',
            )
        ],
        {"a": "c"},
    ),
    "patched": (
        [mutation("JSONPatch", '[JSONPatch{op: "add", path: "/data/p", value: "q"}]')],
        {"a": "b", "p": "q"},
    ),
    "patched by an escaped key": (
        [
            mutation(
                "JSONPatch",
                '[JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("p"),'
                ' value: jsonpatch.escapeKey("~/")}]',
            )
        ],
        {"a": "b", "p": "~0~1"},
    ),
    "one after the other": (
        [
            mutation("JSONPatch", '[JSONPatch{op: "add", path: "/data/p", value: "q"}]'),
            mutation("ApplyConfiguration", 'Object{data: {"seen": object.data.p}}'),
        ],
        {"a": "b", "p": "q", "seen": "q"},
    ),
}


def mutating(mutations: list[Wire], **more: Any) -> Wire:
    return {"reinvocationPolicy": "Never", "mutations": mutations, **more}


@pytest.mark.parametrize("case", MUTATIONS)
def test_a_policy_changes_what_is_written(
    api: Backend, configmaps: str, enforce: Enforce, case: str
) -> None:
    mutations, data = MUTATIONS[case]
    enforce(MUTATING, mutating(mutations))
    answer = until(
        lambda: api.request("POST", f"{configmaps}?dryRun=All", body=configmap("x", a="b")),
        lambda answer: answer.status != 201 or answer.json()["data"] != {"a": "b"},
    )
    assert answer.object(201)["data"] == data


BROKEN: dict[str, tuple[Wire, str]] = {
    "an error": (
        mutation("JSONPatch", '[JSONPatch{op: "add", path: "/data/p", value: object.data.zz}]'),
        "no such key: zz",
    ),
    "a path that is not there": (
        mutation("JSONPatch", '[JSONPatch{op: "remove", path: "/data/zz"}]'),
        "JSON Patch",
    ),
    "another type": (
        mutation("ApplyConfiguration", 'Object{metadata: Object.foo{labels: {"l": "v"}}}'),
        'unexpected type name "Object.foo", expected "Object.metadata"',
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_change_that_fails_refuses_the_write(
    api: Backend, configmaps: str, enforce: Enforce, case: str
) -> None:
    broken, why = BROKEN[case]
    enforce(MUTATING, mutating([broken]))
    answer = refused(api, configmaps, configmap("x", a="b"))
    assert why in answer.json()["message"]


def test_nobody_owns_what_a_policy_adds_but_the_writer_it_was_added_for(
    api: Backend, configmaps: str, enforce: Enforce
) -> None:
    enforce(MUTATING, mutating(MUTATIONS["applied"][0]))
    answer = until(
        lambda: api.apply(f"{configmaps}/x", configmap("x", a="b"), "me", "&dryRun=All"),
        lambda answer: answer.status != 201 or answer.json()["data"] != {"a": "b"},
    )
    obj = answer.object(201)
    assert obj["data"] == {"a": "b", "added": "x"}
    assert {entry["manager"] for entry in obj["metadata"]["managedFields"]} >= {"me"}
