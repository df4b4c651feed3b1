"""The same questions on a real host and on the embedded plane: the same answers, word for word."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from planes import CLUSTERS, Asked, OnHost, embedded, serving
from replicas import Setting

from atoll.wire import Wire

pytestmark = pytest.mark.testenv

MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
APPLY, STRATEGIC = "application/apply-patch+yaml", "application/strategic-merge-patch+json"
TABLE = "|application/json;as=Table;v=v1;g=meta.k8s.io"
HEADS = "|application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
POLICIES = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
BINDINGS = "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings"
CUSTOM = "/apis/config.karmada.io/v1alpha1/resourceinterpretercustomizations"
PRICES = "/apis/placement.atoll.io/v1alpha1/clusterprices"
MAPS = "/api/v1/namespaces/default/configmaps"
PROTECTED = {"resourcetemplate.karmada.io/deletion-protected": "Always"}
DEPLOYMENTS = {"apiVersion": "apps/v1", "kind": "Deployment"}
# With fields in the order in which a host hands them on: a refusal shows them so.
MAX_BELOW_MIN = {"maxGroups": 2, "minGroups": 3, "spreadByField": "cluster"}
BELOW_ZERO = {"maxGroups": -1, "minGroups": 1, "spreadByField": "cluster"}
# What no two servers have in common, or what other controllers of a host add.
_OWN = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "description", "continue"}
_OWN |= {"propagationpolicy.karmada.io/permanent-id", "resourcebinding.karmada.io/permanent-id"}

_ANY_OWN = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|^[0-9]+s$")  # uids, and ages in tables


def cluster(name: str, **spec: Any) -> Wire:
    head = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster"}
    return {**head, "metadata": {"name": name}, "spec": {"syncMode": "Push", **spec}}


def labelled(wire: Wire, labels: Wire) -> Wire:
    return {**wire, "metadata": {**wire["metadata"], "labels": labels}}


def policy(name: str, **spec: Any) -> Wire:
    wanted = {"resourceSelectors": [DEPLOYMENTS], **spec}
    head = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy"}
    return {**head, "metadata": {"name": name}, "spec": wanted}


def customization(name: str, script: str) -> Wire:
    spec = {
        "target": {"apiVersion": "example.com/v1", "kind": name.title()},
        "customizations": {"retention": {"luaScript": script}},
    }
    head = {"apiVersion": "config.karmada.io/v1alpha1"}
    kind = "ResourceInterpreterCustomization"
    return {**head, "kind": kind, "metadata": {"name": name}, "spec": spec}


def binding(name: str) -> Wire:
    spec = {"resource": {**DEPLOYMENTS, "name": name, "namespace": "default"}, "replicas": 2}
    head = {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding"}
    return {**head, "metadata": {"name": name}, "spec": spec}


def price(name: str, **spec: Any) -> Wire:
    head = {"apiVersion": "placement.atoll.io/v1alpha1", "kind": "ClusterPrice"}
    return {**head, "metadata": {"name": name}, "spec": {"currency": "EUR", **spec}}


def config_map(name: str) -> Wire:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": PROTECTED},
    }


Step = tuple[str, str, Any, str]


def post(path: str, wire: Wire) -> Step:
    return "POST", path, wire, ""


def patch(path: str, changes: Any, form: str = MERGE) -> Step:
    return "PATCH", path, changes, form


def get(path: str, form: str = "") -> Step:
    return "GET", path, None, form


def delete(path: str, options: Wire | None = None) -> Step:
    return "DELETE", path, options, ""


ONE = f"{CLUSTERS}/one"
STORIES: dict[str, list[Step]] = {
    "a cluster from birth to death": [
        post(CLUSTERS, cluster("one")),
        post(CLUSTERS, cluster("one")),
        get(ONE),
        get(f"{CLUSTERS}?labelSelector=a%3Db"),
        patch(ONE, {"metadata": {"labels": {"a": "b"}}, "spec": {"region": "eu"}}),
        get(f"{CLUSTERS}?labelSelector=a%3Db"),
        get(f"{CLUSTERS}?fieldSelector=metadata.name%3Done", TABLE),
        get(f"{CLUSTERS}?limit=1", HEADS),
        ("PUT", ONE, cluster("one", zone="z1"), ""),
        ("PUT", ONE, labelled(cluster("one"), {"a": "c"}), ""),
        ("PUT", f"{ONE}/status", {**cluster("one"), "status": {"kubernetesVersion": "v1.2"}}, ""),
        get(f"{ONE}/status"),
        get(ONE, TABLE),
        delete(ONE, {"preconditions": {"uid": "another"}}),
        delete(ONE),
        get(ONE),
        delete(ONE),
    ],
    "patches of all kinds": [
        post(CLUSTERS, cluster("two")),
        patch(
            f"{CLUSTERS}/two",
            [
                {"op": "test", "path": "/kind", "value": "Cluster"},
                {"op": "test", "path": "/apiVersion", "value": "cluster.karmada.io/v1alpha1"},
                {"op": "add", "path": "/spec/provider", "value": "p"},
            ],
            JSON_PATCH,
        ),
        patch(f"{CLUSTERS}/two", [{"op": "test", "path": "/kind", "value": "X"}], JSON_PATCH),
        patch(f"{CLUSTERS}/two", {"spec": {"region": "x"}}, STRATEGIC),
        patch(f"{CLUSTERS}/two", {"spec": {"syncMode": "Never"}}),
        patch(f"{CLUSTERS}/none", {"spec": {"region": "x"}}),
    ],
    "server-side apply": [
        patch(f"{CLUSTERS}/three?fieldManager=a", cluster("three", region="r1"), APPLY),
        patch(f"{CLUSTERS}/three?fieldManager=b", cluster("three", region="r2"), APPLY),
        patch(f"{CLUSTERS}/three?fieldManager=b&force=true", cluster("three", region="r2"), APPLY),
        patch(f"{CLUSTERS}/three?fieldManager=a", cluster("three"), APPLY),
        patch(f"{CLUSTERS}/three?dryRun=All&fieldManager=c", cluster("three", zone="z"), APPLY),
        patch(f"{CLUSTERS}/three", cluster("three"), APPLY),
        get(f"{CLUSTERS}/three"),
    ],
    "what a cluster may not be": [
        post(CLUSTERS, cluster("Big")),
        post(CLUSTERS, cluster("a.b")),
        post(CLUSTERS, cluster("x" * 49)),
        post(CLUSTERS, cluster("four", syncMode="Never")),
        post(CLUSTERS, cluster("four", apiEndpoint="ftp://x")),
        post(CLUSTERS, cluster("four", taints=[{"key": "", "effect": "No"}])),
        post(f"{CLUSTERS}?fieldValidation=Strict", cluster("four", bogus=1)),
        post(CLUSTERS, {**cluster("four"), "apiVersion": "cluster.karmada.io/v9"}),
        post(CLUSTERS, {"metadata": {"name": "four"}}),
        get(f"{CLUSTERS}?fieldSelector=spec.region%3Deu"),
        get(f"{CLUSTERS}/four"),
        post(f"{CLUSTERS}?dryRun=All", cluster("four", zone="z")),
        get(f"{CLUSTERS}/four"),
    ],
    "many at once": [
        *(post(CLUSTERS, labelled(cluster(f"many-{n}"), {"many": "yes"})) for n in range(3)),
        delete(f"{CLUSTERS}?labelSelector=many%3Dyes"),
        get(f"{CLUSTERS}?labelSelector=many%3Dyes"),
    ],
    "policies are filled in and judged": [
        post(POLICIES, policy("p", placement={"spreadConstraints": [{"maxGroups": 2}]})),
        post(
            POLICIES,
            policy("q", placement={"spreadConstraints": [MAX_BELOW_MIN]}),
        ),
        patch(f"{POLICIES}/p", {"spec": {"placement": {"spreadConstraints": [BELOW_ZERO]}}}),
        patch(f"{POLICIES}/p", {"metadata": {"labels": {"a": "b"}}}),
    ],
    "bindings and their older version": [
        post(BINDINGS, binding("b")),
        get(f"{BINDINGS}/b".replace("v1alpha2", "v1alpha1")),
    ],
    "scripts are tried": [
        post(CUSTOM, customization("good", "function Retain(a, b) return a end")),
        post(CUSTOM, customization("bad", "function Retain(a, b return a end")),
        post(CUSTOM, customization("none", "x = 1")),
        post(
            CUSTOM,
            {
                **customization("good", "function Retain(a, b) return b end"),
                "metadata": {"name": "again"},
            },
        ),
    ],
    "prices": [
        post(PRICES, price("m", perCPUHour="0.5")),
        post(PRICES, price("n", perCPUHour="much")),
    ],
    "what is protected stays": [
        post(MAPS, config_map("kept")),
        delete(f"{MAPS}/kept"),
        post(CLUSTERS, labelled(cluster("kept"), PROTECTED)),
        delete(f"{CLUSTERS}/kept"),
        patch(f"{CLUSTERS}/kept", {"metadata": {"labels": None}}),
        delete(f"{CLUSTERS}/kept"),
        patch(f"{MAPS}/kept", {"metadata": {"labels": None}}),
        delete(f"{MAPS}/kept"),
    ],
}


def without_own(value: Any) -> Any:
    """An answer without what no two servers have in common."""
    if isinstance(value, list):
        return [without_own(each) for each in value]
    if isinstance(value, str):
        return _ANY_OWN.sub("-", value)
    if not isinstance(value, dict):
        return value
    return {key: without_own(each) for key, each in value.items() if key not in _OWN}


def managers(value: Any) -> list[tuple[str, str]]:
    entries = (value.get("metadata") or {}).get("managedFields") or []
    return [(each["manager"], each["apiVersion"]) for each in entries]


@pytest.fixture(scope="module")
def both(setting: Setting) -> Iterator[tuple[Asked, Asked]]:
    with serving(setting), embedded() as plane:
        yield OnHost(setting.host.client), plane


@pytest.mark.parametrize("story", STORIES)
def test_a_host_answers_as_the_embedded_plane_does(both: tuple[Asked, Asked], story: str):
    on_host, plane = both
    for method, path, body, form in STORIES[story]:
        found, expected = (each.ask(method, path, body, form) for each in (on_host, plane))
        about = f"{method} {path}"
        assert (about, found[0]) == (about, expected[0]), found[1]
        assert (about, without_own(found[1])) == (about, without_own(expected[1]))
        assert managers(found[1]) == managers(expected[1])
