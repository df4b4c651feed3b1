"""Questions about rights: who am I, may I, may they, whose token is this."""

import time

import pytest
from backends import Answer, Backend

from atoll.wire import Wire

AUTHENTICATION = "authentication.k8s.io/v1"
AUTHORIZATION = "authorization.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io"
PATIENCE_S = 120.0


def ask(
    api: Backend, version: str, kind: str, spec: Wire, *, as_user: str = "", namespace: str = ""
) -> Answer:
    place = f"namespaces/{namespace}/" if namespace else ""
    path = f"/apis/{version}/{place}{kind.lower()}s"
    headers = {"impersonate-user": as_user} if as_user else {}
    body = {"apiVersion": version, "kind": kind, **({"spec": spec} if spec else {})}
    return api.request("POST", path, body=body, headers=headers)


def status(answer: Answer) -> Wire:
    found: Wire = answer.object(201)["status"]
    return found


@pytest.fixture
def reader(api: Backend, namespace: str) -> str:
    """Somebody who may read ConfigMaps in the test's namespace, as is known by now."""
    user = f"reader-{namespace}"
    path = f"/apis/{RBAC}/v1/namespaces/{namespace}"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
    api.create(f"{path}/roles", {"metadata": {"name": "read"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "readers"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "read"},
        "subjects": [{"kind": "User", "apiGroup": RBAC, "name": user}],
    }
    api.create(f"{path}/rolebindings", binding)
    deadline = time.monotonic() + PATIENCE_S
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    while api.request("GET", path, headers={"impersonate-user": user}).status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return user


def wanting(verb: str, resource: str, **more: str) -> Wire:
    return {"resourceAttributes": {"verb": verb, "resource": resource, **more}}


def test_everybody_may_ask_who_they_are(api: Backend) -> None:
    answer = ask(api, AUTHENTICATION, "SelfSubjectReview", {}, as_user="somebody")
    groups = ["system:authenticated"]
    assert status(answer) == {"userInfo": {"username": "somebody", "groups": groups}}


def test_all_that_is_said_of_a_user_is_known_of_it(api: Backend) -> None:
    headers = {
        "impersonate-user": "system:serviceaccount:a:b",
        "impersonate-uid": "7",
        "impersonate-extra-foo%2fbar": "x",
    }
    path = f"/apis/{AUTHENTICATION}/selfsubjectreviews"
    answer = api.request("POST", path, body={}, headers=headers)
    assert status(answer)["userInfo"] == {
        "username": "system:serviceaccount:a:b",
        "uid": "7",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"],
        "extra": {"foo/bar": ["x"]},
    }


def test_whoever_asks_is_told_what_allows_it(api: Backend, reader: str, namespace: str) -> None:
    kind = "SelfSubjectAccessReview"
    spec = wanting("get", "configmaps", namespace=namespace)
    assert status(ask(api, AUTHORIZATION, kind, spec, as_user=reader)) == {
        "allowed": True,
        "reason": f'RBAC: allowed by RoleBinding "readers/{namespace}" of Role "read" to User'
        f' "{reader}"',
    }
    for other in (
        wanting("get", "configmaps", namespace="default"),
        wanting("delete", "configmaps", namespace=namespace),
        wanting("get", "configmaps", namespace=namespace, subresource="x"),
        wanting("get", "configmaps", namespace=namespace, group="apps"),
        {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}},
    ):
        assert status(ask(api, AUTHORIZATION, kind, other, as_user=reader)) == {"allowed": False}
    assert status(ask(api, AUTHORIZATION, kind, spec)) == {"allowed": True}


def test_administrators_may_ask_about_others(api: Backend, reader: str, namespace: str) -> None:
    spec = wanting("list", "configmaps", namespace=namespace) | {"user": reader}
    answer = ask(api, AUTHORIZATION, "SubjectAccessReview", spec)
    assert status(answer)["allowed"] is True
    local = ask(api, AUTHORIZATION, "LocalSubjectAccessReview", spec, namespace=namespace)
    assert status(local)["allowed"] is True
    refused = ask(api, AUTHORIZATION, "SubjectAccessReview", spec, as_user=reader)
    assert refused.status == 403


def test_whoever_asks_is_told_all_they_may(api: Backend, reader: str, namespace: str) -> None:
    answer = ask(
        api, AUTHORIZATION, "SelfSubjectRulesReview", {"namespace": namespace}, as_user=reader
    )
    found = status(answer)
    rule = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]}
    assert rule in found["resourceRules"]
    urls = [url for one in found["nonResourceRules"] for url in one["nonResourceURLs"]]
    assert {"/healthz", "/api", "/apis/*"} <= set(urls)


EITHER = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        pytest.param(
            "SelfSubjectAccessReview",
            {"resourceAttributes": None},
            f"spec.resourceAttributes: Invalid value: null: {EITHER}",
            id="nothing",
        ),
        pytest.param(
            "SelfSubjectAccessReview",
            wanting("get", "pods") | {"nonResourceAttributes": {"verb": "get", "path": "/x"}},
            'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be'
            " specified in combination with resourceAttributes",
            id="both",
        ),
        pytest.param(
            "SubjectAccessReview",
            wanting("get", "pods"),
            'spec.user: Invalid value: "": at least one of user or group must be specified',
            id="about nobody",
        ),
    ],
)
def test_odd_questions_are_refused(api: Backend, kind: str, spec: Wire, message: str) -> None:
    answer = ask(api, AUTHORIZATION, kind, spec)
    answer.refusal(422, "Invalid", f'.authorization.k8s.io "" is invalid: {message}')


def test_a_question_about_another_namespace_is_refused(api: Backend, namespace: str) -> None:
    spec = wanting("get", "pods", namespace="x") | {"user": "somebody"}
    answer = ask(api, AUTHORIZATION, "LocalSubjectAccessReview", spec, namespace=namespace)
    answer.refusal(
        422,
        "Invalid",
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value:'
        ' "x": must match metadata.namespace',
    )


def test_whose_a_token_is_can_be_asked(api: Backend, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    uid = api.create(path, {"metadata": {"name": "robot"}})["metadata"]["uid"]
    token = api.request("POST", f"{path}/robot/token", body={}).object(201)["status"]["token"]
    found = status(ask(api, AUTHENTICATION, "TokenReview", {"token": token}))
    assert found["authenticated"] is True
    assert (found["user"]["username"], found["user"]["uid"]) == (
        f"system:serviceaccount:{namespace}:robot",
        uid,
    )
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    assert found["user"]["groups"] == [*groups, "system:authenticated"]
    wrong = status(ask(api, AUTHENTICATION, "TokenReview", {"token": "x"}))
    assert wrong == {"user": {}, "error": "invalid bearer token"}
    ask(api, AUTHENTICATION, "TokenReview", {}).refusal(
        400, "BadRequest", "token is required for TokenReview in authentication"
    )


def test_whom_a_token_is_meant_for_can_be_asked(api: Backend, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    api.create(path, {"metadata": {"name": "robot"}})
    wanted = {"spec": {"audiences": ["vault", "bank"]}}
    token = api.request("POST", f"{path}/robot/token", body=wanted).object(201)["status"]["token"]

    def asked(*audiences: str) -> Wire:
        spec = {"token": token, **({"audiences": list(audiences)} if audiences else {})}
        return status(ask(api, AUTHENTICATION, "TokenReview", spec))

    found = asked("bank", "other")
    assert (found["authenticated"], found["audiences"]) == (True, ["bank"])
    assert found["user"]["username"] == f"system:serviceaccount:{namespace}:robot"
    assert asked("bank", "vault")["audiences"] == ["bank", "vault"]
    for audiences in ((), ("other",)):
        assert "authenticated" not in asked(*audiences)


def test_questions_are_not_kept(api: Backend) -> None:
    assert api.request("GET", f"/apis/{AUTHORIZATION}/selfsubjectaccessreviews").status == 405
    assert api.request("GET", f"/apis/{AUTHENTICATION}/tokenreviews/x").status == 404


def test_a_storage_class_is_given_back_when_it_is_deleted(api: Backend, unique: str) -> None:
    path = "/apis/storage.k8s.io/v1/storageclasses"
    api.create(path, {"metadata": {"name": unique}, "provisioner": "a.b/c"})
    assert api.delete(f"{path}/{unique}")["kind"] == "StorageClass"


MAY_I, MAY_THEY = "SelfSubjectAccessReview", "SubjectAccessReview"
WRONG = '.authorization.k8s.io "" is invalid: '
EITHER = (
    "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or"
    " resourceAttributes must be specified"
)
NOBODY = 'spec.user: Invalid value: "": at least one of user or group must be specified'
SELECTED = "spec.resourceAttributes.fieldSelector"


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        pytest.param(MAY_I, {}, WRONG + EITHER, id="nothing is asked"),
        pytest.param(MAY_THEY, {}, f"{WRONG}[{EITHER}, {NOBODY}]", id="of nobody"),
        pytest.param(
            MAY_I,
            wanting("get", "pods") | {"nonResourceAttributes": {"path": "/x", "verb": "get"}},
            WRONG + 'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}:'
            " cannot be specified in combination with resourceAttributes",
            id="two things at once",
        ),
        pytest.param(
            MAY_I,
            {"resourceAttributes": {"verb": "get", "resource": "pods", "fieldSelector": {}}},
            f"{WRONG}{SELECTED}.requirements: Required value: when {SELECTED} is specified,"
            " requirements or rawSelector is required",
            id="an empty selector",
        ),
        pytest.param(
            MAY_I,
            {
                "resourceAttributes": {
                    "fieldSelector": {
                        "rawSelector": "a=b",
                        "requirements": [
                            {"key": "", "operator": "Unheard", "values": ["b"]},
                            {"key": "a", "operator": "In"},
                            {"key": "a", "operator": "Exists", "values": ["b"]},
                        ],
                    }
                }
            },
            f'{WRONG}[{SELECTED}.rawSelector: Invalid value: "a=b": may not specified at the same'
            f" time as requirements, {SELECTED}.requirements[0].key: Required value: must be"
            f" specified, {SELECTED}.requirements[1].values: Required value: must be specified"
            f" when `operator` is 'In' or 'NotIn', {SELECTED}.requirements[2].values: Forbidden:"
            " may not be specified when `operator` is 'Exists' or 'DoesNotExist']",
            id="faults in a selector",
        ),
    ],
)
def test_mistakes_in_questions_are_told(api: Backend, kind: str, spec: Wire, message: str) -> None:
    details = ask(api, AUTHORIZATION, kind, spec).refusal(422, "Invalid", message)
    assert "kind" not in details


def test_a_local_question_is_about_its_namespace(api: Backend, namespace: str) -> None:
    kind = "LocalSubjectAccessReview"
    spec = {"user": "joe", "nonResourceAttributes": {"path": "/x", "verb": "get"}}
    message = (
        WRONG + 'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}:'
        " disallowed on this kind of request"
    )
    answer = ask(api, AUTHORIZATION, kind, spec, namespace=namespace)
    assert answer.json()["message"] == message
    nowhere = ask(api, AUTHORIZATION, kind, {"user": "joe", **wanting("get", "pods")})
    assert nowhere.status == 404


def test_a_question_has_no_name_of_its_own(api: Backend) -> None:
    path = f"/apis/{AUTHORIZATION}/selfsubjectaccessreviews"
    body = {"metadata": {"name": "mine"}, "spec": wanting("get", "pods")}
    message = api.request("POST", path, body=body).json()["message"]
    assert message.startswith(f'{WRONG}metadata: Invalid value: {{"name":"mine",')
    assert message.endswith(": must be empty")


@pytest.mark.parametrize(
    ("version", "plural", "spec"),
    [
        (AUTHORIZATION, "selfsubjectaccessreviews", wanting("get", "pods")),
        (AUTHENTICATION, "tokenreviews", {"token": "nonsense"}),
    ],
)
def test_an_answer_says_its_kind_and_who_asked_what(
    api: Backend, version: str, plural: str, spec: Wire
) -> None:
    headers = {"user-agent": "asker/1"}
    path = f"/apis/{version}/{plural}"
    found = api.request("POST", path, body={"spec": spec}, headers=headers).object(201)
    assert (found["kind"].lower() + "s", found["apiVersion"]) == (plural, version)
    (entry,) = found["metadata"]["managedFields"]
    assert entry["manager"] == "asker"
    assert entry["fieldsV1"].keys() == {"f:spec"}


def test_who_asks_who_they_are_is_told_when(api: Backend) -> None:
    body = {"metadata": {"name": "mine"}, "status": {"userInfo": {"username": "root"}}}
    found = api.request("POST", f"/apis/{AUTHENTICATION}/selfsubjectreviews", body=body).object(201)
    assert found["metadata"].keys() == {"creationTimestamp"}
    assert found["status"]["userInfo"]["username"] != "root"
