"""Random sessions of a few users on a few objects: a seed in, requests out.

Two names per kind are enough for every request to meet what earlier ones left: creations that find
the name taken, applies that conflict, finalizers that hold, patches of what is not there.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from backends import PATCHES
from manifests import configmap, deployment

from atoll.wire import Wire

COLLECTIONS = {
    "configmaps": "/api/v1/namespaces/{}/configmaps",
    "secrets": "/api/v1/namespaces/{}/secrets",
    "services": "/api/v1/namespaces/{}/services",
    "deployments": "/apis/apps/v1/namespaces/{}/deployments",
}
# Three times as many applies: most rules are about them.
MOVES = ("create", "create", "put", "apply", "apply", "apply", "force", "patch", "delete")
MOVES += ("get", "list")
JSON_PATCHES: list[Wire] = [
    {"op": "add", "path": "/metadata/labels", "value": {"j": "1"}},
    {"op": "remove", "path": "/metadata/labels"},
    {"op": "replace", "path": "/metadata/finalizers", "value": []},
    {"op": "test", "path": "/kind", "value": "ConfigMap"},
    {"op": "remove", "path": "/metadata/managedFields"},
]


@dataclass(frozen=True)
class Step:
    """One request; the path lacks the namespace."""

    method: str
    path: str
    body: object = None
    content_type: str = ""


def session(seed: int, length: int) -> Iterator[Step]:
    chance = random.Random(seed)
    for _ in range(length):
        plural, name = chance.choice(sorted(COLLECTIONS)), chance.choice("ab")
        yield _step(chance, plural, name)


def _step(chance: random.Random, plural: str, name: str) -> Step:
    collection = COLLECTIONS[plural]
    path = f"{collection}/{name}"
    match chance.choice(MOVES):
        case "create":
            return Step("POST", f"{collection}?fieldManager=c", _object(chance, plural, name))
        case "put":
            return Step("PUT", f"{path}?fieldManager=p", _object(chance, plural, name))
        case ("apply" | "force") as how:
            query = (
                f"?fieldManager={chance.choice(['m1', 'm2'])}&force={str(how == 'force').lower()}"
            )
            body = _object(chance, plural, name)
            return Step("PATCH", path + query, body, PATCHES["apply"])
        case "patch":
            return _patch(chance, plural, path, _object(chance, plural, name))
        case "delete":
            options = chance.choice([None, {"propagationPolicy": "Background"}])
            return Step("DELETE", path, options)
        case "list":
            selector = chance.choice(["x", "!x", "y%3D1", "z%20in%20(1,2)"])
            return Step("GET", f"{collection}?labelSelector={selector}")
    return Step("GET", path)


def _patch(chance: random.Random, plural: str, path: str, body: Wire) -> Step:
    match chance.choice(["merge", "strategic", "json", "release", "reset", "status"]):
        case "merge":
            del body["apiVersion"], body["kind"]
            return Step("PATCH", f"{path}?fieldManager=g", body, PATCHES["merge"])
        case "strategic":
            return Step("PATCH", f"{path}?fieldManager=s", body, PATCHES["strategic"])
        case "json":
            patch = [chance.choice(JSON_PATCHES)]
            return Step("PATCH", f"{path}?fieldManager=j", patch, PATCHES["json"])
        case "release":
            return Step("PATCH", path, {"metadata": {"finalizers": None}}, PATCHES["merge"])
        case "reset":
            return Step("PATCH", path, {"metadata": {"managedFields": [{}]}}, PATCHES["merge"])
    status = {"status": {"replicas": chance.choice([1, 2])}}
    suffix = "/status" if plural == "deployments" else ""
    return Step("PATCH", f"{path}{suffix}?fieldManager=t", status, PATCHES["merge"])


def _object(chance: random.Random, plural: str, name: str) -> Wire:
    made = KINDS[plural](chance, name)
    if chance.random() < 0.5:
        made["metadata"]["labels"] = {chance.choice("xyz"): chance.choice("12")}
    if chance.random() < 0.15:
        made["metadata"]["finalizers"] = ["example.com/hold"]
    if chance.random() < 0.2:
        made["metadata"]["annotations"] = {"n": chance.choice("12")}
    return made


def _configmap(chance: random.Random, name: str) -> Wire:
    return configmap(name, **{chance.choice("kmn"): chance.choice("123")})


def _secret(chance: random.Random, name: str) -> Wire:
    data = {chance.choice("kmn"): chance.choice("vw")}
    return {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data,
    }  # fmt: skip


def _service(chance: random.Random, name: str) -> Wire:
    ports = [{"port": chance.choice([80, 81]), "name": "web"}]
    if chance.random() < 0.5:
        ports.append({"port": 443, "name": "tls"})
    # Without an address of its own: those are given out in another order by every server.
    spec = {"clusterIP": "None", "ports": ports, "selector": {"a": chance.choice("12")}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def _deployment(chance: random.Random, name: str) -> Wire:
    container: Wire = {}
    if chance.random() < 0.5:
        container["env"] = [
            {"name": one, "value": chance.choice("12")} for one in chance.sample("ABC", 2)
        ]
    if chance.random() < 0.5:
        container["ports"] = [{"containerPort": one} for one in chance.sample([80, 81, 82], 2)]
    made = deployment(name, chance.choice([0, 1, 2]), **container)
    pod = made["spec"]["template"]["spec"]
    if chance.random() < 0.3:
        pod["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/x"}]
        pod["volumes"] = [{"name": "v", "emptyDir": {}}]
    if chance.random() < 0.2:
        pod["containers"].append({"name": "side", "image": "side"})
    return made


KINDS: dict[str, Callable[[random.Random, str], Wire]] = {
    "configmaps": _configmap,
    "secrets": _secret,
    "services": _service,
    "deployments": _deployment,
}
