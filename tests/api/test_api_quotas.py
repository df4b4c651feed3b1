"""ResourceQuotas: what a namespace may hold, what is told of it, and what is refused.

A kube-apiserver alone enforces a quota once its controller has told what is used; where there is no
controller, the test tells it.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from backends import OURS, Backend

from atoll.wire import Wire

PATIENCE_S = 120.0


def allow(api: Backend, namespace: str, hard: Wire, **spec: Any) -> str:
    """Limit a namespace, of which nothing is used; gives the path of the quota."""
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    api.create(path, {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}})
    if api.name == "kubernetes":
        nothing = dict.fromkeys(hard, "0")
        api.patch(f"{path}/q/status", {"status": {"hard": hard, "used": nothing}})
    check_used(api, f"{path}/q", dict.fromkeys(hard, "0"))
    return f"{path}/q"


def check_used(api: Backend, quota: str, wanted: Wire) -> None:
    """What is used must come to this."""
    until = time.monotonic() + PATIENCE_S
    while (found := api.read(quota).get("status", {}).get("used")) != wanted:
        assert time.monotonic() < until, found
        time.sleep(0.02)


def check_exceeded(api: Backend, path: str, obj: Wire, why: str) -> None:
    """Refused, for what is used is known; who learns of it late may say something else at first."""
    name, plural = obj["metadata"]["name"], path.rpartition("/")[2]
    group = f".{path.split('/')[2]}" if path.startswith("/apis/") else ""
    message = f'{plural}{group} "{name}" is forbidden: {why}'
    until = time.monotonic() + PATIENCE_S
    answer = api.request("POST", f"{path}?dryRun=All", body=obj)
    while answer.json().get("message") != message and time.monotonic() < until:
        answer = api.request("POST", f"{path}?dryRun=All", body=obj)
    answer.refusal(403, "Forbidden", message)
    api.request("POST", path, body=obj).refusal(403, "Forbidden", message)


def named(name: str, **rest: Any) -> Wire:
    return {"metadata": {"name": name}, **rest}


def pod(name: str, resources: Wire | None = None, **spec: Any) -> Wire:
    container = {"name": "c", "image": "i", **({"resources": resources} if resources else {})}
    return named(name, spec={"containers": [container], **spec})


def asking(cpu: str, memory: str) -> Wire:
    return {"requests": {"cpu": cpu, "memory": memory}}


@pytest.mark.parametrize("resource", ["secrets", "count/secrets"])
def test_objects_are_counted(api: Backend, namespace: str, resource: str) -> None:
    quota = allow(api, namespace, {resource: "1"})
    path = f"/api/v1/namespaces/{namespace}/secrets"
    api.create(path, named("a"))
    check_used(api, quota, {resource: "1"})
    why = f"exceeded quota: q, requested: {resource}=1, used: {resource}=1, limited: {resource}=1"
    check_exceeded(api, path, named("b"), why)


def test_objects_of_other_groups_are_counted(api: Backend, namespace: str) -> None:
    resource = "count/leases.coordination.k8s.io"
    allow(api, namespace, {resource: "0"})
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    why = f"exceeded quota: q, requested: {resource}=1, used: {resource}=0, limited: {resource}=0"
    check_exceeded(api, path, named("a"), why)


def test_pods_are_counted_by_what_they_ask_for(api: Backend, namespace: str) -> None:
    hard = {"pods": "2", "requests.cpu": "1", "requests.memory": "300Mi", "limits.cpu": "4"}
    quota = allow(api, namespace, hard)
    path = f"/api/v1/namespaces/{namespace}/pods"
    api.create(path, pod("a", {**asking("600m", "200Mi"), "limits": {"cpu": "1500m"}}))
    told = {"pods": "1", "requests.cpu": "600m", "requests.memory": "200Mi", "limits.cpu": "1500m"}
    check_used(api, quota, told)
    check_exceeded(
        api,
        path,
        pod("b", {**asking("600m", "200Mi"), "limits": {"cpu": "1"}}),
        "exceeded quota: q, requested: requests.cpu=600m,requests.memory=200Mi,"
        " used: requests.cpu=600m,requests.memory=200Mi,"
        " limited: requests.cpu=1,requests.memory=300Mi",
    )
    check_exceeded(
        api,
        path,
        pod("c", {"requests": {"cpu": "1m"}}),
        "failed quota: q: must specify limits.cpu for: c; requests.memory for: c",
    )


def test_extended_resources_are_counted(api: Backend, namespace: str) -> None:
    allow(api, namespace, {"requests.ex.io/card": "1"})
    path = f"/api/v1/namespaces/{namespace}/pods"
    two = {kind: {"ex.io/card": "2"} for kind in ("requests", "limits")}
    name = "requests.ex.io/card"
    why = f"exceeded quota: q, requested: {name}=2, used: {name}=0, limited: {name}=1"
    check_exceeded(api, path, pod("a", two), why)


@pytest.mark.parametrize(
    ("scopes", "inside", "outside"),
    [
        pytest.param(
            {"scopes": ["BestEffort"]}, {}, {"resources": asking("1", "1Mi")}, id="best-effort"
        ),
        pytest.param(
            {"scopes": ["NotBestEffort"]}, {"resources": asking("1", "1Mi")}, {}, id="better"
        ),
        pytest.param(
            {"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 5}, {}, id="terminating"
        ),
        pytest.param(
            {"scopes": ["NotTerminating"]}, {}, {"activeDeadlineSeconds": 5}, id="not-terminating"
        ),
        pytest.param(
            {
                "scopeSelector": {
                    "matchExpressions": [
                        {
                            "scopeName": "PriorityClass",
                            "operator": "In",
                            "values": ["system-node-critical"],
                        }
                    ]
                }
            },
            {"priorityClassName": "system-node-critical"},
            {"priorityClassName": "system-cluster-critical"},
            id="priority",
        ),
        pytest.param(
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]
                }
            },
            {"priorityClassName": "system-node-critical"},
            {},
            id="any-priority",
        ),
    ],
)
def test_a_quota_with_a_scope_counts_what_is_within(
    api: Backend, namespace: str, scopes: Wire, inside: Wire, outside: Wire
) -> None:
    allow(api, namespace, {"pods": "0"}, **scopes)
    path = f"/api/v1/namespaces/{namespace}/pods"
    api.create(path, pod("out", **outside))
    why = "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"
    check_exceeded(api, path, pod("in", **inside), why)


def test_services_are_counted_by_their_kind(api: Backend, namespace: str) -> None:
    hard = {"services": "2", "services.nodeports": "1", "services.loadbalancers": "1"}
    quota = allow(api, namespace, hard)
    path = f"/api/v1/namespaces/{namespace}/services"
    api.create(path, named("plain", spec={"ports": [{"port": 80}]}))
    told = {"services": "1", "services.nodeports": "0", "services.loadbalancers": "0"}
    check_used(api, quota, told)
    two = {"type": "LoadBalancer", "ports": [{"name": n, "port": int(n[1:])} for n in ("p1", "p2")]}
    check_exceeded(
        api,
        path,
        named("two", spec=two),
        "exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0,"
        " limited: services.nodeports=1",
    )


def test_claims_are_counted_by_size_and_class(api: Backend, namespace: str) -> None:
    gold = "gold.storageclass.storage.k8s.io"
    hard = {
        "persistentvolumeclaims": "5",
        "requests.storage": "5Gi",
        f"{gold}/requests.storage": "1Gi",
    }
    quota = allow(api, namespace, hard)
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"

    def claim(name: str, size: str) -> Wire:
        asked = {"requests": {"storage": size}}
        spec = {"accessModes": ["ReadWriteOnce"], "resources": asked, "storageClassName": "gold"}
        return named(name, spec=spec)

    api.create(path, claim("a", "1Gi"))
    told = {
        "persistentvolumeclaims": "1",
        "requests.storage": "1Gi",
        f"{gold}/requests.storage": "1Gi",
    }
    check_used(api, quota, told)
    name = f"{gold}/requests.storage"
    why = f"exceeded quota: q, requested: {name}=1Gi, used: {name}=1Gi, limited: {name}=1Gi"
    check_exceeded(api, path, claim("b", "1Gi"), why)


@pytest.mark.parametrize("api", OURS, indirect=True)
def test_what_goes_is_free_again(api: Backend, namespace: str) -> None:
    quota = allow(api, namespace, {"pods": "1", "secrets": "9"})
    path = f"/api/v1/namespaces/{namespace}/pods"
    api.create(path, pod("a"))
    check_used(api, quota, {"pods": "1", "secrets": "0"})
    api.patch(f"{path}/a/status", {"status": {"phase": "Succeeded"}})
    check_used(api, quota, {"pods": "0", "secrets": "0"})
    api.create(path, pod("b"))
    api.delete(f"{path}/b", {"gracePeriodSeconds": 0})
    check_used(api, quota, {"pods": "0", "secrets": "0"})


@pytest.mark.parametrize("api", OURS, indirect=True)
def test_another_limit_counts_at_once_what_is_there(api: Backend, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}"
    for name in ("a", "b"):
        api.create(f"{path}/secrets", named(name))
    api.create(f"{path}/resourcequotas", named("q", spec={"hard": {"secrets": "5"}}))
    check_used(api, f"{path}/resourcequotas/q", {"secrets": "2"})
    fewer = {"spec": {"hard": {"secrets": "1", "resourcequotas": "1"}}}
    api.patch(f"{path}/resourcequotas/q", fewer)
    check_used(api, f"{path}/resourcequotas/q", {"secrets": "2", "resourcequotas": "1"})
    assert api.read(f"{path}/resourcequotas/q")["status"]["hard"] == fewer["spec"]["hard"]


@pytest.mark.parametrize("api", ["in-process"], indirect=True)
def test_not_even_many_at_once_get_more_than_there_is(api: Backend, namespace: str) -> None:
    quota = allow(api, namespace, {"secrets": "7"})
    path = f"/api/v1/namespaces/{namespace}/secrets"

    def make(number: int) -> int:
        return api.request("POST", path, body=named(f"s{number}")).status

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(make, range(40)))
    assert (answers.count(201), answers.count(403)) == (7, 33)
    check_used(api, quota, {"secrets": "7"})
