"""One tenant cannot read another, nor guess what it has: what is not theirs looks like nothing."""

import time
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from backends import Answer, Backend

from atoll.wire import Wire

RBAC = "rbac.authorization.k8s.io"
PATIENCE_S = 120.0
METHODS = ("GET", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class Tenants:
    """Two namespaces, and a user who may do everything in the first, and nothing in the second."""

    api: Backend
    own: str
    other: str
    user: str

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        sent = {"impersonate-user": self.user, "content-type": "application/json", **headers}
        return self.api.request(method, path, body=body, headers=sent)


@pytest.fixture
def tenants(api: Backend, unique: str) -> Tenants:
    found = Tenants(api, f"{unique}-own", f"{unique}-other", f"{unique}-tenant")
    for name in (found.own, found.other):
        api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        for kind in ("configmaps", "secrets"):
            for each in ("a", "b"):
                path = f"/api/v1/namespaces/{name}/{kind}"
                api.create(path, {"metadata": {"name": f"{each}-{name}", "labels": {"x": each}}})
    binding = {
        "metadata": {"name": "tenant"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "apiGroup": RBAC, "name": found.user}],
    }
    api.create(f"/apis/{RBAC}/v1/namespaces/{found.own}/rolebindings", binding)
    deadline = time.monotonic() + PATIENCE_S
    while found.ask("GET", f"/api/v1/namespaces/{found.own}/secrets").status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def told(answer: Answer, *names: str) -> tuple[int, str]:
    """What an answer tells, whatever the names that were asked for."""
    text = answer.body.decode()
    for name in names:
        text = text.replace(name, "*")
    return answer.status, text


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["secrets", "configmaps", "nonsense"])
def test_what_is_there_looks_like_what_is_not(tenants: Tenants, method: str, kind: str) -> None:
    there, missing = f"a-{tenants.other}", "never-was"
    body = {"metadata": {"name": "x"}} if method in ("PUT", "PATCH") else None
    answers = [
        told(tenants.ask(method, f"/api/v1/namespaces/{space}/{kind}/{name}", body), name, space)
        for space in (tenants.other, "no-such-namespace")
        for name in (there, missing)
    ]
    assert len(set(answers)) == 1
    assert answers[0][0] == 403


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?watch=true",
        "?watch=true&resourceVersion=999999999999",
        "?labelSelector=x%3Da",
        "?labelSelector=!!!",
        "?fieldSelector=metadata.name%3Da",
        "?limit=nonsense",
        "?resourceVersion=nonsense",
    ],
)
def test_no_way_of_asking_tells_more(tenants: Tenants, query: str) -> None:
    for path in (f"/api/v1/namespaces/{tenants.other}/secrets", "/api/v1/secrets"):
        answer = tenants.ask("GET", path + query)
        assert answer.status == 403, answer.body
        assert "a-" + tenants.other not in answer.body.decode()


def test_nothing_is_made_where_one_has_no_rights(tenants: Tenants) -> None:
    answers = {
        told(tenants.ask("POST", f"/api/v1/namespaces/{space}/configmaps", {}), space)
        for space in (tenants.other, "no-such-namespace")
    }
    assert [status for status, _ in answers] == [403]


def test_a_page_of_another_list_cannot_be_turned(tenants: Tenants) -> None:
    first = tenants.api.read(f"/api/v1/namespaces/{tenants.other}/secrets?limit=1")
    everywhere = tenants.api.read("/api/v1/secrets?limit=1")
    for listing in (first, everywhere):
        token = quote(listing["metadata"]["continue"])
        path = f"/api/v1/namespaces/{tenants.own}/secrets?limit=500&continue={token}"
        answer = tenants.ask("GET", path)
        assert answer.status in (200, 400)
        spaces = {each["metadata"]["namespace"] for each in answer.json().get("items", ())}
        assert spaces <= {tenants.own}


def test_selecting_a_namespace_gives_no_rights_in_it(tenants: Tenants) -> None:
    selector = quote(f"metadata.namespace={tenants.other}")
    own = f"/api/v1/namespaces/{tenants.own}/secrets?fieldSelector={selector}"
    assert tenants.ask("GET", own).object()["items"] == []
    assert tenants.ask("GET", f"/api/v1/secrets?fieldSelector={selector}").status == 403


def test_an_object_is_written_where_its_path_leads(tenants: Tenants) -> None:
    stray: Wire = {"metadata": {"name": "stray", "namespace": tenants.other}}
    answer = tenants.ask("POST", f"/api/v1/namespaces/{tenants.own}/configmaps", stray)
    assert answer.status == 400
    missing = tenants.api.request("GET", f"/api/v1/namespaces/{tenants.other}/configmaps/stray")
    assert missing.status == 404


@pytest.mark.parametrize(
    "header",
    [
        {"impersonate-user": "kubernetes-admin", "impersonate-group": "system:masters"},
        {"impersonate-user": "system:serviceaccount:kube-system:default"},
    ],
    ids=["a person", "an account"],
)
def test_nobody_speaks_for_others_by_saying_so(tenants: Tenants, header: dict[str, str]) -> None:
    path = f"/api/v1/namespaces/{tenants.other}/secrets"
    answer = tenants.api.stranger("GET", path, header)
    assert answer.status == 403
    assert 'User "system:anonymous" cannot impersonate' in answer.json()["message"]


def test_tokens_are_given_out_only_by_those_who_may(tenants: Tenants) -> None:
    accounts = f"/api/v1/namespaces/{tenants.other}/serviceaccounts"
    tenants.api.create(accounts, {"metadata": {"name": "robot"}})
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answers = {
        told(tenants.ask("POST", f"{accounts}/{name}/token", body), name)
        for name in ("robot", "never-was")
    }
    assert [status for status, _ in answers] == [403]


def test_who_may_do_what_elsewhere_is_not_told(tenants: Tenants) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    asked = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": tenants.other},
    }
    rules = tenants.ask("POST", path, asked).object(201)["status"]["resourceRules"]
    assert all("secrets" not in rule["resources"] for rule in rules)
    assert all("*" not in rule["resources"] for rule in rules)
    others = {**asked, "kind": "SubjectAccessReview", "spec": {"user": "jane"}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert tenants.ask("POST", path, others).status == 403


def test_no_right_is_given_that_one_does_not_have(tenants: Tenants) -> None:
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    role = {"metadata": {"name": "reach"}, "rules": [rule]}
    roles = f"/apis/{RBAC}/v1"
    assert tenants.ask("POST", f"{roles}/clusterroles", role).status == 403
    assert tenants.ask("POST", f"{roles}/namespaces/{tenants.other}/roles", role).status == 403
    assert tenants.ask("POST", f"{roles}/namespaces/{tenants.own}/roles", role).status == 201
