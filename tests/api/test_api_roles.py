"""Roles: what they allow to whom, and that nobody gives away more than they have."""

import json
import time
from collections.abc import Callable, Iterator

import pytest
from backends import Answer, Backend

from atoll.apiserver.access.rules import rules_of, uncovered
from atoll.wire import Wire

RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
PATIENCE_S = 120.0


def settled(ask: Callable[[], Answer], status: int) -> Answer:
    """The answer, once it has this status: roles take effect a moment after they are written."""
    deadline = time.monotonic() + PATIENCE_S
    while (answer := ask()).status != status and time.monotonic() < deadline:
        time.sleep(0.02)
    assert answer.status == status, answer.body.decode()
    return answer


class User:
    """Somebody without any rights but those that the test gives."""

    def __init__(self, api: Backend, name: str) -> None:
        self.api = api
        self.name = name

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        headers = {"impersonate-user": self.name}
        return self.api.request(method, path, body=body, headers=headers)

    def sees(self, path: str, status: int = 200) -> Answer:
        return settled(lambda: self.ask("GET", path), status)


@pytest.fixture
def user(api: Backend, unique: str) -> User:
    return User(api, f"user-{unique}")


@pytest.fixture
def give(api: Backend, user: User, namespace: str) -> Iterator[Callable[..., None]]:
    """Gives the user these rules, in the test's namespace or everywhere."""
    made: list[str] = []

    def give(*rules: Wire, everywhere: bool = False) -> None:
        name = f"{namespace}-{len(made)}"
        prefix = "cluster" if everywhere else f"namespaces/{namespace}/"
        kind = "ClusterRole" if everywhere else "Role"
        api.create(f"{RBAC}/{prefix}roles", {"metadata": {"name": name}, "rules": list(rules)})
        api.create(f"{RBAC}/{prefix}rolebindings", binding(name, kind, name, user.name))
        made.extend([f"{RBAC}/{prefix}rolebindings/{name}", f"{RBAC}/{prefix}roles/{name}"])

    yield give
    for path in made:
        api.delete(path)


def binding(name: str, kind: str, role: str, user: str) -> Wire:
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
        "subjects": [{"kind": "User", "apiGroup": GROUP, "name": user}],
    }


def rule(group: str, resources: str, verbs: str, **more: list[str]) -> Wire:
    return {
        "apiGroups": [group],
        "resources": resources.split(),
        "verbs": verbs.split(),
        **more,
    }


def test_a_role_allows_what_it_says_where_it_is_bound(
    api: Backend, user: User, give: Callable[..., None], namespace: str
) -> None:
    give(rule("", "configmaps", "get list"))
    user.sees(f"/api/v1/namespaces/{namespace}/configmaps")
    user.sees("/api/v1/namespaces/default/configmaps", 403)
    user.sees("/api/v1/configmaps", 403)
    user.sees(f"/api/v1/namespaces/{namespace}/secrets", 403)
    answer = user.ask("DELETE", f"/api/v1/namespaces/{namespace}/configmaps/a")
    answer.refusal(
        403,
        "Forbidden",
        f'configmaps "a" is forbidden: User "{user.name}" cannot delete resource "configmaps" in'
        f' API group "" in the namespace "{namespace}"',
    )


@pytest.mark.parametrize(
    ("granted", "asked", "status"),
    [
        pytest.param(rule("apps", "deployments", "*"), "apps/v1 deployments/x", 404, id="verbs"),
        pytest.param(rule("*", "*", "get"), "apps/v1 deployments/x", 404, id="everything"),
        pytest.param(rule("apps", "*", "get"), "apps/v1 deployments/x/scale", 404, id="all of"),
        pytest.param(
            rule("apps", "*/scale", "get"), "apps/v1 deployments/x/scale", 404, id="parts"
        ),
        pytest.param(rule("apps", "*/scale", "get"), "apps/v1 deployments/x", 403, id="part only"),
        pytest.param(
            rule("apps", "deployments", "get"), "apps/v1 deployments/x/scale", 403, id="no part"
        ),
        pytest.param(
            rule("apps", "deployments/scale", "get"), "apps/v1 deployments/x/scale", 404, id="part"
        ),
        pytest.param(
            rule("apps", "deployments", "get list", resourceNames=["x"]),
            "apps/v1 deployments/x",
            404,
            id="name",
        ),
        pytest.param(
            rule("apps", "deployments", "get list", resourceNames=["x"]),
            "apps/v1 deployments/y",
            403,
            id="other name",
        ),
        pytest.param(
            rule("apps", "deployments", "get list", resourceNames=["x"]),
            "apps/v1 deployments",
            403,
            id="list of names",
        ),
        pytest.param(rule("batch", "*", "*"), "apps/v1 deployments/x", 403, id="group"),
    ],
)
def test_rules_are_read_as_they_are_meant(
    user: User,
    give: Callable[..., None],
    namespace: str,
    granted: Wire,
    asked: str,
    status: int,
) -> None:
    give(rule("", "configmaps", "list"), granted)
    user.sees(f"/api/v1/namespaces/{namespace}/configmaps")
    version, _, rest = asked.partition(" ")
    assert user.ask("GET", f"/apis/{version}/namespaces/{namespace}/{rest}").status == status


def test_a_binding_of_a_role_that_is_not_there_is_told(
    api: Backend, user: User, unique: str
) -> None:
    path = f"{RBAC}/clusterrolebindings"
    api.create(path, binding(unique, "ClusterRole", f"{unique}-nowhere", user.name))
    wanted = f'RBAC: clusterrole.{GROUP} "{unique}-nowhere" not found'
    deadline = time.monotonic() + PATIENCE_S
    while True:
        message = user.ask("GET", "/api/v1/namespaces").json()["message"]
        if message.endswith(wanted) or time.monotonic() > deadline:
            break
        time.sleep(0.02)
    assert message == (
        f'namespaces is forbidden: User "{user.name}" cannot list resource "namespaces" in API'
        f' group "" at the cluster scope: {wanted}'
    )
    api.delete(f"{path}/{unique}")


def test_what_is_taken_back_is_refused(
    api: Backend, user: User, give: Callable[..., None], namespace: str
) -> None:
    give(rule("", "configmaps", "list"))
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    assert user.sees(path).status == 200
    api.patch(f"{RBAC}/namespaces/{namespace}/roles/{namespace}-0", {"rules": []})
    assert user.sees(path, 403).status == 403


def test_paths_are_allowed_by_cluster_roles(user: User, give: Callable[..., None]) -> None:
    assert user.ask("GET", "/api").status == 200
    assert user.ask("GET", "/nowhere/deep").status == 403
    give({"nonResourceURLs": ["/nowhere/*"], "verbs": ["get"]}, everywhere=True)
    user.sees("/nowhere/deep", 404)
    assert user.ask("GET", "/nowhere").status == 403
    assert user.ask("POST", "/nowhere/deep").status == 403


MORE = (
    {
        "apiGroups": ["apps", ""],
        "resources": ["deployments", "pods/log"],
        "verbs": ["get", "delete", "list"],
    },
    rule("", "pods", "get list", resourceNames=["a", "b"]),
    {"nonResourceURLs": ["/x", "/y/*"], "verbs": ["get", "post"]},
)


def test_nobody_makes_a_role_that_allows_more_than_they_may(
    user: User, give: Callable[..., None], unique: str
) -> None:
    give(rule(GROUP, "clusterroles", "get create"), everywhere=True)
    give(rule("apps", "deployments", "get list"), everywhere=True)
    user.sees("/apis/apps/v1/deployments")
    user.sees(f"{RBAC}/clusterroles/{unique}", 404)
    proposed = {"metadata": {"name": unique}, "rules": list(MORE)}
    answer = user.ask("POST", f"{RBAC}/clusterroles", proposed)
    details = answer.refusal(
        403,
        "Forbidden",
        f'clusterroles.{GROUP} "{unique}" is forbidden: user "{user.name}"'
        ' (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently'
        ' held:\n{APIGroups:[""], Resources:["deployments"], Verbs:["get" "delete" "list"]}'
        '\n{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get" "list"]}'
        '\n{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get" "list"]}'
        '\n{APIGroups:[""], Resources:["pods/log"], Verbs:["get" "delete" "list"]}'
        '\n{APIGroups:["apps"], Resources:["deployments"], Verbs:["delete"]}'
        '\n{APIGroups:["apps"], Resources:["pods/log"], Verbs:["get" "delete" "list"]}'
        '\n{NonResourceURLs:["/x"], Verbs:["get"]}\n{NonResourceURLs:["/x"], Verbs:["post"]}'
        '\n{NonResourceURLs:["/y/*"], Verbs:["get"]}\n{NonResourceURLs:["/y/*"], Verbs:["post"]}',
    )
    assert details == {"name": unique, "group": GROUP, "kind": "clusterroles"}


def test_a_role_may_be_made_and_changed_within_what_its_writer_may(
    user: User, give: Callable[..., None], namespace: str
) -> None:
    give(rule(GROUP, "roles", "get create update"), rule("apps", "deployments", "get list"))
    path = f"{RBAC}/namespaces/{namespace}/roles"
    user.sees(f"{path}/mine", 404)
    proposed = {"metadata": {"name": "mine"}, "rules": [rule("apps", "deployments", "get")]}
    made = user.ask("POST", path, proposed).object(201)
    made["rules"] = [rule("apps", "deployments", "list")]
    changed = user.ask("PUT", f"{path}/mine", made).object()
    changed["rules"] = [rule("apps", "deployments", "delete")]
    assert user.ask("PUT", f"{path}/mine", changed).status == 403


def test_who_may_escalate_may_give_everything(
    user: User, give: Callable[..., None], namespace: str
) -> None:
    give(rule(GROUP, "roles", "get create escalate"))
    path = f"{RBAC}/namespaces/{namespace}/roles"
    user.sees(f"{path}/mine", 404)
    proposed = {"metadata": {"name": "mine"}, "rules": [rule("*", "*", "*")]}
    assert user.ask("POST", path, proposed).status == 201


def test_nobody_binds_a_role_that_allows_more_than_they_may(
    user: User, give: Callable[..., None], namespace: str
) -> None:
    give(rule(GROUP, "rolebindings", "get create"), rule("apps", "deployments", "get list"))
    path = f"{RBAC}/namespaces/{namespace}/rolebindings"
    user.sees(f"{path}/mine", 404)
    proposed = binding("mine", "ClusterRole", "cluster-admin", "somebody")
    user.ask("POST", path, proposed).refusal(
        403,
        "Forbidden",
        f'rolebindings.{GROUP} "mine" is forbidden: user "{user.name}"'
        ' (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently'
        ' held:\n{APIGroups:["*"], Resources:["*"], Verbs:["*"]}'
        '\n{NonResourceURLs:["*"], Verbs:["*"]}',
    )
    proposed = binding("mine", "ClusterRole", "is-not-there", "somebody")
    user.ask("POST", path, proposed).refusal(
        404, "NotFound", f'rolebindings.{GROUP} "is-not-there" not found'
    )


def test_who_may_bind_a_role_may_bind_it(
    user: User, give: Callable[..., None], namespace: str
) -> None:
    give(
        rule(GROUP, "rolebindings", "get create"),
        rule(GROUP, "clusterroles", "bind", resourceNames=["view"]),
    )
    path = f"{RBAC}/namespaces/{namespace}/rolebindings"
    user.sees(f"{path}/mine", 404)
    user.ask("POST", path, binding("mine", "ClusterRole", "view", "other")).object(201)
    answer = user.ask("POST", path, binding("more", "ClusterRole", "cluster-admin", "other"))
    assert answer.status == 403


def test_only_administrators_let_a_role_collect_others(
    user: User, give: Callable[..., None], unique: str
) -> None:
    give(rule(GROUP, "clusterroles", "get create"), everywhere=True)
    user.sees(f"{RBAC}/clusterroles/{unique}", 404)
    selectors = [{"matchLabels": {"a": "b"}}]
    proposed = {
        "metadata": {"name": unique},
        "aggregationRule": {"clusterRoleSelectors": selectors},
    }
    user.ask("POST", f"{RBAC}/clusterroles", proposed).refusal(
        403,
        "Forbidden",
        f'clusterroles.{GROUP} "{unique}" is forbidden: must have cluster-admin privileges to use'
        " the aggregationRule",
    )


def test_groups_that_are_spoken_for_need_a_user(api: Backend) -> None:
    answer = api.request("GET", "/api", headers={"impersonate-group": "a"})
    answer.refusal(
        400,
        "BadRequest",
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a"},'
        " Extra:map[string][]string(nil)} without impersonating a user name",
    )


def test_administrators_may_speak_for_groups(api: Backend) -> None:
    headers = {"impersonate-user": "somebody", "impersonate-group": "system:masters"}
    assert api.request("GET", "/api/v1/namespaces", headers=headers).status == 200


def test_an_account_that_is_spoken_for_has_its_groups(
    api: Backend, namespace: str, unique: str
) -> None:
    proposed = binding(unique, "ClusterRole", "cluster-admin", "")
    subject = {"kind": "Group", "apiGroup": GROUP, "name": f"system:serviceaccounts:{namespace}"}
    path = f"{RBAC}/namespaces/{namespace}/rolebindings"
    api.create(path, proposed | {"subjects": [subject]})
    account = User(api, f"system:serviceaccount:{namespace}:somebody")
    assert account.sees(f"/api/v1/namespaces/{namespace}/configmaps").status == 200


def test_the_usual_roles_are_those_of_kubernetes(in_process: Backend, real: Backend) -> None:
    ours = {r["metadata"]["name"]: r for r in in_process.read(f"{RBAC}/clusterroles")["items"]}
    for name in ("cluster-admin", "system:discovery", "system:basic-user", "system:auth-delegator"):
        there = real.read(f"{RBAC}/clusterroles/{name}")
        assert normal(ours[name]) == normal(there), name
    for name in ("system:aggregate-to-admin", "system:aggregate-to-edit"):
        there = rules_of(real.read(f"{RBAC}/clusterroles/{name}"))
        assert uncovered(there, rules_of(ours[name])) == []
        # What is gone from Kubernetes, and what we do not serve.
        gone = {"extensions", "resource.k8s.io"}
        assert {r.groups[0] for r in uncovered(rules_of(ours[name]), there)} <= gone


def normal(role: Wire) -> Wire:
    rules = [{key: sorted(values) for key, values in one.items()} for one in role["rules"]]
    kept = {key: role["metadata"][key] for key in ("labels", "annotations")}
    return {**kept, "rules": sorted(rules, key=lambda one: json.dumps(one, sort_keys=True))}
