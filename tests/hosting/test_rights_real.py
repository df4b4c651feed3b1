"""A plane that may do what its roles say, on a real host: that is enough, and no more than enough.

What it asked for is read from the host's own log. Days of trouble are not shown here: a right that
only they call for says so in the table.
"""

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from conftest import TEMPLATES
from replicas import CLUSTERS, QUICK, Setting, noted, replica, token_id, wait_for

from atoll.apiserver.karmada.agents import TOKEN_GROUP
from atoll.hosting.rights import Right, at_home, everywhere, outside
from atoll.members.agent_rights import agent_user
from atoll.members.certifying import REQUESTS, ask_for, issued
from atoll.wire import Wire

pytestmark = [pytest.mark.testenv, pytest.mark.timeout(900)]

POLICY = "policy.karmada.io/v1alpha1"
SPACE = "rights"
HERE = f"/namespaces/{SPACE}"
DEPLOYMENT = f"/apis/apps/v1{HERE}/deployments/web"
URGENT = "/apis/scheduling.k8s.io/v1/priorityclasses/urgent"
BINDING = f"/apis/work.karmada.io/v1alpha2{HERE}/resourcebindings/web-deployment"


def named(api_version: str, kind: str, name: str, namespace: str = "", **more: Any) -> Wire:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def deployment(replicas: int) -> Wire:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}
    return named("apps/v1", "Deployment", "web", SPACE, spec=spec)


def selecting(api_version: str, kind: str) -> Wire:
    return {"resourceSelectors": [{"apiVersion": api_version, "kind": kind}]}


def propagate(setting: Setting) -> None:
    """A day with templates of two scopes, overrides, prices, changes and a rebalancer."""
    host = setting.host
    host.apply(f"/api/v1{HERE}", named("v1", "Namespace", SPACE))
    placement = {"placement": {"clusterTolerations": [{"operator": "Exists"}]}}
    for kind, plural, where, more in (
        ("PropagationPolicy", "propagationpolicies", SPACE, selecting("apps/v1", "Deployment")),
        (
            "ClusterPropagationPolicy",
            "clusterpropagationpolicies",
            "",
            selecting("scheduling.k8s.io/v1", "PriorityClass"),
        ),
    ):
        path = f"/apis/{POLICY}{HERE if where else ''}/{plural}/all"
        host.apply(path, named(POLICY, kind, "all", where, spec={**more, **placement}))
    host.apply(DEPLOYMENT, deployment(1))
    urgent = named("scheduling.k8s.io/v1", "PriorityClass", "urgent", value=7)
    host.apply(URGENT, urgent)
    wait_for("the Work of the Deployment", lambda: works(setting, "Deployment", 1))
    wait_for("the Work of the PriorityClass", lambda: works(setting, "PriorityClass"))
    host.apply(DEPLOYMENT, deployment(3))
    wait_for("a change of it", lambda: works(setting, "Deployment", 3))
    report(setting)
    price(setting)
    rebalance(setting)


def works(setting: Setting, kind: str, replicas: int | None = None) -> list[Wire]:
    """The Works of the first member that have such a manifest, applied."""
    found = setting.host.client.get("/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works")
    manifests = [
        (each, each["spec"]["workload"]["manifests"][0])
        for each in found["items"]
        if (each.get("status") or {}).get("conditions")
    ]
    return [
        work
        for work, manifest in manifests
        if manifest["kind"] == kind
        and (replicas is None or manifest["spec"]["replicas"] == replicas)
    ]


def report(setting: Setting) -> None:
    """Have the member say how its Deployment is, which is told on the template."""
    (member,) = (each for name, each in setting.members.items() if name == "m1")
    status = {"observedGeneration": 9, "replicas": 3, "readyReplicas": 2, "updatedReplicas": 3}
    patch = {"Content-Type": "application/merge-patch+json"}
    path = f"{DEPLOYMENT}/status"
    wait_for("it in the member", lambda: member.request("GET", DEPLOYMENT).status == 200)
    body = json.dumps({"status": status}).encode()
    assert member.request("PATCH", path, body, patch).status == 200

    def is_told() -> bool:
        found = setting.host.client.get(DEPLOYMENT).get("status") or {}
        return found.get("readyReplicas") == 2

    wait_for("its status on the template", is_told)


def price(setting: Setting) -> None:
    api, spec = "placement.atoll.io/v1alpha1", {"currency": "EUR", "perCPUHour": "0.04"}
    path = f"/apis/{api}/clusterprices/m1"
    setting.host.apply(path, named(api, "ClusterPrice", "m1", spec=spec))
    wait_for("the price to be judged", lambda: setting.host.client.get(path).get("status"))


def rebalance(setting: Setting) -> None:
    api = "apps.karmada.io/v1alpha1"
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": SPACE, "name": "web"}
    spec = {"workloads": [workload], "ttlSecondsAfterFinished": 0}
    path = f"/apis/{api}/workloadrebalancers/now"
    setting.host.apply(path, named(api, "WorkloadRebalancer", "now", spec=spec))
    wait_for("the rebalancer to be done and gone", lambda: setting.host.get(path) is None)


def write_clusters(setting: Setting) -> None:
    """Every verb that Clusters have, by their users."""
    client = setting.host.client
    pulled = named(
        CLUSTERS.api_version, CLUSTERS.kind, "pulled", spec={"syncMode": "Pull", "provider": "a"}
    )
    made = wait_for("a Cluster", lambda: client.create(CLUSTERS, pulled))
    path = CLUSTERS.path(name="pulled")
    client.request("PUT", path, body=json.dumps({**made, "spec": {**made["spec"]}}).encode())
    client.patch(path, {"spec": {"provider": "b"}})
    client.get(f"{path}/status")
    client.patch(f"{path}/status", {"status": {"kubernetesVersion": "v1.0.0"}})
    assert client.list(CLUSTERS)
    with client.stream(CLUSTERS.path(), "watch=1&timeoutSeconds=1") as lines:
        assert next(iter(lines))
    raw = f"{CLUSTERS.path(name='m1')}/proxy/api"
    wait_for("the way to a member", lambda: client.get(raw)["kind"] == "APIVersions")
    chosen = "fieldSelector=metadata.name%3Dpulled"
    assert client.request("DELETE", CLUSTERS.path(), chosen).status == 200
    wait_for("it to be gone", lambda: setting.host.get(path) is None)
    client.delete(CLUSTERS.path_of(client.create(CLUSTERS, pulled)))


def interpret(setting: Setting) -> None:
    api, path = "config.karmada.io/v1alpha1", "resourceinterpretercustomizations"
    script = "function GetReplicas(o) return o.spec.replicas, nil end"
    spec = {
        "target": {"apiVersion": "example.io/v1", "kind": "Widget"},
        "customizations": {"replicaResource": {"luaScript": script}},
    }
    wire = named(api, "ResourceInterpreterCustomization", "widgets", spec=spec)
    wait_for("what a kind means", lambda: setting.host.apply(f"/apis/{api}/{path}/widgets", wire))


def register(setting: Setting) -> None:
    """Have an agent ask for a certificate, as those that get one without anybody's help."""
    client, asked = setting.host.client, ask_for(agent_user("pulled"), "pulled", 24 * 3600)
    body = json.dumps(asked.wire).encode()
    as_token = {"impersonate-user": "system:bootstrap:abcdef", "impersonate-group": TOKEN_GROUP}
    assert client.request("POST", REQUESTS.path(), body=body, headers=as_token).status == 201
    wait_for("its certificate", lambda: issued(client.get(asked.path)))


def end(setting: Setting) -> None:
    """Let go of templates, policies and members."""
    client, host = setting.host.client, setting.host
    client.delete(DEPLOYMENT)
    wait_for("the binding to be gone", lambda: host.get(BINDING) is None)
    client.delete(URGENT)
    for path in (f"{HERE}/propagationpolicies", "/clusterpropagationpolicies"):
        client.delete(f"/apis/{POLICY}{path}/all")
        wait_for("the policy to be gone", lambda p=path: host.get(f"/apis/{POLICY}{p}/all") is None)
    client.delete(CLUSTERS.path(name="m1"))
    wait_for("the Cluster to be gone", lambda: host.get(CLUSTERS.path(name="m1")) is None)


@pytest.fixture(scope="module")
def asked(setting: Setting) -> list[Wire]:
    """What the account asked for until the end of such a day, as the host has noted it."""
    host = setting.host
    kubeconfig = host.account(setting.directory)
    with replica(kubeconfig, *QUICK) as one:
        wait_for("one who leads", one.terms)
        wait_for("our API", lambda: host.client.list(CLUSTERS) is not None)
        host.enrol("m1", setting.members["m1"])
        wait_for("a member", lambda: host.is_ready("m1"))
        propagate(setting)
        write_clusters(setting)
        interpret(setting)
        register(setting)
        end(setting)
        assert one.stop() == 0, one.said()
    assert noted(host.cluster, token_id(kubeconfig))
    return noted(host.cluster)


def resource(entry: Wire) -> str:
    ref = entry.get("objectRef") or {}
    return f"{ref.get('resource', '')}/{ref.get('subresource', '')}".removesuffix("/")


def test_nothing_that_it_asks_for_is_forbidden(asked: list[Wire]) -> None:
    refused = [
        (each["verb"], resource(each), each["requestURI"])
        for each in asked
        if (each.get("responseStatus") or {}).get("code") == 403
    ]
    assert refused == []


def unused(table: Iterator[Right], asked: list[Wire]) -> list[str]:
    """The rights that nobody made use of, and that do not say why they are there."""
    used = {
        ((each.get("objectRef") or {}).get("apiGroup", ""), resource(each), each["verb"])
        for each in asked
    }
    return [
        f"{right.part}: {verb} {each}.{right.group}"
        for right in table
        for each in right.resources
        for verb in right.verbs
        if not right.rarely and (right.group, each, verb) not in used
    ]


def test_no_right_is_there_that_is_never_used(asked: list[Wire]) -> None:
    found = unused(chain(everywhere(TEMPLATES), at_home(), outside()), asked)
    assert not found, "; ".join(found)
