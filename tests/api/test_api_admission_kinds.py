"""Webhook configurations and admission policies as kinds: defaults, refusals and columns."""

from typing import Any

import pytest
from backends import Backend

from atoll.wire import Wire

ROOT = "/apis/admissionregistration.k8s.io/v1"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["x"]}


def webhook(**changes: Any) -> Wire:
    """A webhook for a resource that nobody has, so that it is never called."""
    written = {
        "name": "a.example.io",
        "clientConfig": {"url": "https://127.0.0.1:1/x"},
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {key: value for key, value in (written | changes).items() if value is not None}


def configuration(name: str, *webhooks: Wire) -> Wire:
    return {"metadata": {"name": name}, "webhooks": list(webhooks)}


DEFAULTS = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "timeoutSeconds": 10,
}


@pytest.mark.parametrize(
    ("plural", "more"),
    [
        ("validatingwebhookconfigurations", {}),
        ("mutatingwebhookconfigurations", {"reinvocationPolicy": "Never"}),
    ],
    ids=["validating", "mutating"],
)
def test_webhooks_have_defaults(api: Backend, unique: str, plural: str, more: Wire) -> None:
    service = {"service": {"name": "a", "namespace": "b"}}
    made = api.create(f"{ROOT}/{plural}", configuration(unique, webhook(clientConfig=service)))
    (found,) = made["webhooks"]
    expected = webhook(
        clientConfig={"service": {"name": "a", "namespace": "b", "port": 443}},
        rules=[RULE | {"scope": "*"}],
    )
    assert found == expected | DEFAULTS | more
    assert made["metadata"]["generation"] == 1
    made["webhooks"][0]["timeoutSeconds"] = 3
    changed = api.update(f"{ROOT}/{plural}/{unique}", made)
    assert changed["metadata"]["generation"] == 2
    del changed["metadata"]["resourceVersion"]
    api.request("PUT", f"{ROOT}/{plural}/{unique}", body=changed).refusal(
        422,
        "Invalid",
        f'{plural}.admissionregistration.k8s.io "{unique}" is invalid:'
        " metadata.resourceVersion: Invalid value: 0: must be specified for an update",
    )
    api.delete(f"{ROOT}/{plural}/{unique}")


HOOK, WAY = "webhooks[0]", "webhooks[0].clientConfig"
FIRST = "webhooks[0].rules[0]"
MISTAKES: dict[str, tuple[Wire, list[str]]] = {
    "no name": ({"name": ""}, [f"{HOOK}.name: Required value"]),
    "a short name": (
        {"name": "a.b"},
        [
            f'{HOOK}.name: Invalid value: "a.b": should be a domain with at least three segments'
            " separated by dots"
        ],
    ),
    "no rule for anything": (
        {"rules": [{}]},
        [
            f"{FIRST}.{key}: Required value"
            for key in ("operations", "apiGroups", "apiVersions", "resources")
        ],
    ),
    "an operation that is none": (
        {"rules": [RULE | {"operations": ["READ"]}]},
        [
            f'{FIRST}.operations[0]: Unsupported value: "READ": supported values:'
            ' "*", "CONNECT", "CREATE", "DELETE", "UPDATE"'
        ],
    ),
    "everything and more": (
        {"rules": [RULE | {"operations": ["*", "CREATE"], "apiGroups": ["*", "a"]}]},
        [
            f'{FIRST}.operations: Invalid value: ["*","CREATE"]: if \'*\' is present, must not'
            " specify other operations",
            f'{FIRST}.apiGroups: Invalid value: ["*","a"]: if \'*\' is present, must not specify'
            " other API groups",
        ],
    ),
    "resources said twice": (
        {"rules": [RULE | {"resources": ["pods/*", "pods/log", "*/*"]}]},
        [
            f"{FIRST}.resources[1]: Invalid value: \"pods/log\": if 'pods/*' is present, must not"
            " specify pods/log",
            f'{FIRST}.resources: Invalid value: ["pods/*","pods/log","*/*"]: if \'*/*\' is present,'
            " must not specify other resources",
        ],
    ),
    "a scope that is none": (
        {"rules": [RULE | {"scope": "Everywhere"}]},
        [
            f'{FIRST}.scope: Unsupported value: "Everywhere": supported values:'
            ' "*", "Cluster", "Namespaced"'
        ],
    ),
    "policies that are none": (
        {"failurePolicy": "Maybe", "matchPolicy": "Some"},
        [
            f'{HOOK}.failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"',
            f'{HOOK}.matchPolicy: Unsupported value: "Some": supported values:'
            ' "Equivalent", "Exact"',
        ],
    ),
    "side effects": (
        {"sideEffects": "Some"},
        [
            f'{HOOK}.sideEffects: Unsupported value: "Some": supported values:'
            ' "None", "NoneOnDryRun"'
        ],
    ),
    "nothing about side effects": (
        {"sideEffects": None},
        [f"{HOOK}.sideEffects: Required value: must specify one of None, NoneOnDryRun"],
    ),
    "too much time": (
        {"timeoutSeconds": 31},
        [
            f"{HOOK}.timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30"
            " seconds"
        ],
    ),
    "no way": (
        {"clientConfig": {}},
        [f"{WAY}: Required value: exactly one of url or service is required"],
    ),
    "a URL that is none of ours": (
        {"clientConfig": {"url": "http://me:you@host/a?b=c#d"}},
        [
            f"{WAY}.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired"
            " format: https://host[/path]",
            f'{WAY}.url: Invalid value: "me:you": user information is not permitted in the URL',
            f'{WAY}.url: Invalid value: "d": fragments are not permitted in the URL',
            f'{WAY}.url: Invalid value: "b=c": query parameters are not permitted in the URL',
        ],
    ),
    "a URL without a host": (
        {"clientConfig": {"url": "https:///x"}},
        [
            f'{WAY}.url: Invalid value: "": host must be specified; desired format:'
            " https://host[/path]"
        ],
    ),
    "a service nowhere": (
        {"clientConfig": {"service": {"name": "", "namespace": "", "port": 70000, "path": "a/b"}}},
        [
            f"{WAY}.service.name: Required value",
            f"{WAY}.service.namespace: Required value",
            f"{WAY}.service.port: Invalid value: 70000: port is not valid: must be between 1 and"
            " 65535, inclusive",
            f"{WAY}.service.path: Invalid value: \"a/b\": must start with a '/'",
            f'{WAY}.service.path: Invalid value: "a/b": segment[0] may not be empty',
        ],
    ),
    "no version": (
        {"admissionReviewVersions": []},
        [f"{HOOK}.admissionReviewVersions: Required value: must specify one of v1, v1beta1"],
    ),
    "versions nobody speaks": (
        {"admissionReviewVersions": ["v7", "v7"]},
        [
            f'{HOOK}.admissionReviewVersions[1]: Invalid value: "v7": duplicate version',
            f'{HOOK}.admissionReviewVersions: Invalid value: ["v7","v7"]: must include at least one'
            " of v1, v1beta1",
        ],
    ),
    "conditions without names": (
        {"matchConditions": [{"name": "", "expression": "true"}, {"name": "a", "expression": ""}]},
        [
            f"{HOOK}.matchConditions[0].name: Required value",
            f"{HOOK}.matchConditions[1].expression: Required value",
        ],
    ),
}


@pytest.mark.parametrize("kind", ["Validating", "Mutating"])
@pytest.mark.parametrize(("changes", "told"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_in_webhooks_are_told(
    api: Backend, unique: str, kind: str, changes: Wire, told: list[str]
) -> None:
    path = f"{ROOT}/{kind.lower()}webhookconfigurations"
    answer = api.request("POST", path, body=configuration(unique, webhook(**changes)))
    listed = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    where = f'{kind}WebhookConfiguration.admissionregistration.k8s.io "{unique}"'
    answer.refusal(422, "Invalid", f"{where} is invalid: {listed}")


def test_webhooks_of_one_configuration_have_different_names(api: Backend, unique: str) -> None:
    path = f"{ROOT}/validatingwebhookconfigurations"
    answer = api.request("POST", path, body=configuration(unique, webhook(), webhook()))
    details = answer.refusal(422, "Invalid")
    assert [cause["field"] for cause in details["causes"]] == ["webhooks[1].name"]


def policy(name: str, **spec: Any) -> Wire:
    constraints = {"resourceRules": [RULE]}
    written = {"matchConstraints": constraints, "validations": [{"expression": "true"}]}
    return {"metadata": {"name": name}, "spec": written | spec}


def mutating_policy(name: str, **spec: Any) -> Wire:
    expression = '[JSONPatch{op: "remove", path: "/data"}]'
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    written = {
        "matchConstraints": {"resourceRules": [RULE]},
        "mutations": [mutation],
        "reinvocationPolicy": "Never",
    }
    return {"metadata": {"name": name}, "spec": written | spec}


def test_policies_have_defaults(api: Backend, unique: str) -> None:
    for plural, written in (
        ("validatingadmissionpolicies", policy(unique)),
        ("mutatingadmissionpolicies", mutating_policy(unique)),
    ):
        spec = api.create(f"{ROOT}/{plural}", written)["spec"]
        api.delete(f"{ROOT}/{plural}/{unique}")
        assert spec["failurePolicy"] == "Fail"
        assert spec["matchConstraints"] == {
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "resourceRules": [RULE | {"scope": "*"}],
        }


SPEC = "spec.validations[0]"
POLICY_MISTAKES: dict[str, tuple[str, Wire, list[str]]] = {
    "nothing to validate": (
        "validatingadmissionpolicies",
        {"validations": [], "matchConstraints": {"resourceRules": []}},
        ["spec.matchConstraints.resourceRules", "spec.validations", "spec.auditAnnotations"],
    ),
    "a parameter of no kind": (
        "validatingadmissionpolicies",
        {"paramKind": {"apiVersion": "a/b/c", "kind": ""}},
        ["spec.paramKind.apiVersion", "spec.paramKind.kind"],
    ),
    "a variable that is none": (
        "validatingadmissionpolicies",
        {"variables": [{"name": "in", "expression": ""}]},
        ["spec.variables[0].name", "spec.variables[0].expression"],
    ),
    "a reason that is none": (
        "validatingadmissionpolicies",
        {"validations": [{"expression": "", "message": "a\nb", "reason": "Because"}]},
        [f"{SPEC}.expression", f"{SPEC}.message", f"{SPEC}.reason"],
    ),
    "nothing to change": (
        "mutatingadmissionpolicies",
        {"mutations": [], "reinvocationPolicy": ""},
        ["spec.mutations", "spec.reinvocationPolicy"],
    ),
    "changing what goes": (
        "mutatingadmissionpolicies",
        {"matchConstraints": {"resourceRules": [RULE | {"operations": ["DELETE"]}]}},
        ["spec.matchConstraints.resourceRules.operations"],
    ),
    "a patch of the other type": (
        "mutatingadmissionpolicies",
        {"mutations": [{"patchType": "JSONPatch", "applyConfiguration": {"expression": "x"}}]},
        ["spec.mutations[0].jsonPatch", "spec.mutations[0].applyConfiguration"],
    ),
}


@pytest.mark.parametrize(("plural", "spec", "told"), POLICY_MISTAKES.values(), ids=POLICY_MISTAKES)
def test_mistakes_in_policies_are_told(
    api: Backend, unique: str, plural: str, spec: Wire, told: list[str]
) -> None:
    written = policy if plural.startswith("validating") else mutating_policy
    answer = api.request("POST", f"{ROOT}/{plural}", body=written(unique, **spec))
    details = answer.refusal(422, "Invalid")
    assert sorted(cause["field"] for cause in details["causes"]) == sorted(told)


ACTIONS, REFERENCE = "spec.validationActions", "spec.paramRef"
BINDING_MISTAKES: dict[str, tuple[Wire, list[str]]] = {
    "nothing": ({}, ["spec.policyName", ACTIONS]),
    "actions against each other": (
        {"policyName": "a", "validationActions": ["Deny", "Warn", "Deny", "Sing"]},
        [f"{ACTIONS}[2]", f"{ACTIONS}[3]", ACTIONS],
    ),
    "two sorts of parameters": (
        {
            "policyName": "a",
            "validationActions": ["Deny"],
            "paramRef": {"name": "a", "selector": {}},
        },
        [f"{REFERENCE}.name", f"{REFERENCE}.selector", f"{REFERENCE}.parameterNotFoundAction"],
    ),
}


@pytest.mark.parametrize(("spec", "told"), BINDING_MISTAKES.values(), ids=BINDING_MISTAKES)
def test_mistakes_in_bindings_are_told(
    api: Backend, unique: str, spec: Wire, told: list[str]
) -> None:
    body = {"metadata": {"name": unique}, "spec": spec}
    answer = api.request("POST", f"{ROOT}/validatingadmissionpolicybindings", body=body)
    details = answer.refusal(422, "Invalid")
    assert sorted(cause["field"] for cause in details["causes"]) == sorted(told)


def test_admission_kinds_have_columns(api: Backend, unique: str) -> None:
    binding = {
        "metadata": {"name": unique},
        "spec": {
            "policyName": "missing",
            "validationActions": ["Audit"],
            "paramRef": {"name": "p", "parameterNotFoundAction": "Deny"},
        },
    }
    every = {
        "validatingwebhookconfigurations": (configuration(unique, webhook()), [unique, 1]),
        "mutatingwebhookconfigurations": (configuration(unique), [unique, 0]),
        "validatingadmissionpolicies": (policy(unique), [unique, 1, "<unset>"]),
        "mutatingadmissionpolicies": (mutating_policy(unique), [unique, 1, "<unset>"]),
        "validatingadmissionpolicybindings": (binding, [unique, "missing", "*/p"]),
    }
    for plural, (written, cells) in every.items():
        api.create(f"{ROOT}/{plural}", written)
        table = api.read(f"{ROOT}/{plural}/{unique}", accept=TABLE)
        api.delete(f"{ROOT}/{plural}/{unique}")
        assert table["rows"][0]["cells"][:-1] == cells
        assert table["columnDefinitions"][-1]["name"] == "Age"
