"""Conditions of webhooks, and what is said of expressions that make no sense.

The webhook here cannot be reached: that it was meant to be asked shows in the failure.
"""

import time

import pytest
from backends import Answer, Backend
from manifests import configmap

from atoll.wire import Wire

ROOT = "/apis/admissionregistration.k8s.io/v1"
RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
}


def configuration(name: str, namespace: str, *conditions: str, policy: str = "Fail") -> Wire:
    named = [{"name": f"c{i}", "expression": said} for i, said in enumerate(conditions)]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": "silent.example.com",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "failurePolicy": policy,
                "timeoutSeconds": 1,
                "clientConfig": {"url": "https://127.0.0.1:1/none"},
                "rules": [RULE],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "matchConditions": named,
            }
        ],
    }


def until_it_is_asked(api: Backend, path: str, obj: Wire) -> Answer:
    deadline = time.monotonic() + 120
    while True:
        answer = api.request("POST", f"{path}?dryRun=All", body=obj)
        if answer.status >= 400:
            return answer
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_webhook_is_asked_only_if_all_conditions_hold(
    api: Backend, namespace: str, configmaps: str, unique: str
) -> None:
    conditions = ("object.metadata.name.startsWith('asked')", "request.operation == 'CREATE'")
    path = f"{ROOT}/validatingwebhookconfigurations"
    api.create(path, configuration(unique, namespace, *conditions))
    answer = until_it_is_asked(api, configmaps, configmap("asked"))
    answer.refusal(500, "InternalError")
    assert 'failed calling webhook "silent.example.com"' in answer.json()["message"]
    assert api.request("POST", configmaps, body=configmap("other")).status == 201
    api.delete(f"{path}/{unique}")


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_condition_that_fails_refuses_the_write_unless_the_webhook_does_not_matter(
    api: Backend, namespace: str, configmaps: str, unique: str, policy: str
) -> None:
    path = f"{ROOT}/validatingwebhookconfigurations"
    failing = "object.data.zz == 'a'"
    api.create(path, configuration(unique, namespace, failing, policy=policy))
    # Another, which always fails, tells when the first must be known.
    api.create(path, configuration(f"{unique}-z", namespace, "object.metadata.name == 'probe'"))
    until_it_is_asked(api, configmaps, configmap("probe", zz="b"))
    answer = api.request("POST", configmaps, body=configmap("x", a="b"))
    if policy == "Fail":
        why = f"expression '{failing}' resulted in error: no such key: zz"
        answer.refusal(403, "Forbidden", f'configmaps "x" is forbidden: {why}')
    else:
        assert answer.status == 201
    for name in (unique, f"{unique}-z"):
        api.delete(f"{path}/{name}")


MATCH = {"resourceRules": [RULE]}
FAULTS: dict[str, tuple[Wire, str]] = {
    "no expression": (
        {"validations": [{"expression": "object.x +"}]},
        "spec.validations[0].expression",
    ),
    "no bool": ({"validations": [{"expression": "object.x"}]}, "must evaluate to bool but got dyn"),
    "no parameters": (
        {"validations": [{"expression": "params.x == 1"}]},
        "undeclared reference to 'params' (in container '')",
    ),
    "no message": (
        {"validations": [{"expression": "true", "messageExpression": "1"}]},
        "must evaluate to string but got int",
    ),
    "an unknown field": (
        {"validations": [{"expression": "request.foo == 1"}]},
        "undefined field 'foo'",
    ),
    "a variable that comes later": (
        {
            "variables": [{"name": "a", "expression": "variables.b"}],
            "validations": [{"expression": "true"}],
        },
        "undefined field 'b'",
    ),
    "a variable in a condition": (
        {
            "variables": [{"name": "a", "expression": "1"}],
            "matchConditions": [{"name": "c", "expression": "variables.a == 1"}],
            "validations": [{"expression": "true"}],
        },
        "undeclared reference to 'variables' (in container '')",
    ),
    "an annotation": (
        {"auditAnnotations": [{"key": "k", "valueExpression": "1"}]},
        "must evaluate to one of [string null_type] but got int",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_policy_whose_expressions_make_no_sense_is_refused(
    api: Backend, unique: str, case: str
) -> None:
    spec, why = FAULTS[case]
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": unique},
        "spec": {"failurePolicy": "Fail", "matchConstraints": MATCH, **spec},
    }
    answer = api.request("POST", f"{ROOT}/validatingadmissionpolicies", body=policy)
    answer.refusal(422, "Invalid")
    assert why in answer.json()["message"]
