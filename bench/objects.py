"""The objects and requests of the load: ConfigMaps of about 1 KB and Deployments of about 3 KB.

Requests are whole HTTP messages as bytes, made before anything is measured. Every write names a
field manager, so that both servers keep account of who owns which field.
"""

from collections.abc import Iterator

import orjson

from atoll.wire import Wire

NAMESPACES = "/api/v1/namespaces"
MANAGER = "bench"
_RBAC_VERSION = "rbac.authorization.k8s.io/v1"
_RBAC = f"/apis/{_RBAC_VERSION}"
WIDTH = 8  # of numbers in changing values, so that every version of an object has the same length

_LINE = "a value of a setting, of a length that settings have; "


def configmap(name: str, number: int) -> Wire:
    """A ConfigMap of about 1 KB; the number makes a version of it."""
    data = {f"setting-{n:02}.conf": _LINE[: 40 + n] for n in range(13)}
    labels = {"app": "bench", "tier": "backend", "shard": f"s{number % 10}"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels},
        "data": {**data, "version": _version(number)},
    }


def deployment(name: str, number: int) -> Wire:
    """A Deployment of about 3 KB; the number makes a version of its pod template."""
    labels = {"app": "bench", "component": name}
    pod = {
        "metadata": {"labels": labels, "annotations": {"bench/config-hash": _LINE[:40]}},
        "spec": {
            "serviceAccountName": "bench",
            "terminationGracePeriodSeconds": 45,
            "containers": [_container("web", 8080, number), _container("side", 9090, number)],
            "volumes": [
                {"name": "config", "configMap": {"name": "bench-config"}},
                {"name": "scratch", "emptyDir": {}},
            ],
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels, "annotations": {"bench/note": _LINE}},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": pod},
    }


def _container(name: str, port: int, number: int) -> Wire:
    env = [{"name": f"SETTING_{n}", "value": _LINE[:30]} for n in range(9)]
    probe = {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 5}
    return {
        "name": name,
        "image": f"registry.example/bench/{name}:1.2.3",
        "args": ["--listen", f":{port}", "--config", "/etc/bench/config.yaml"],
        "ports": [{"name": "http", "containerPort": port}],
        "env": [*env, {"name": "VERSION", "value": _version(number)}],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"cpu": "500m", "memory": "256Mi"},
        },
        "livenessProbe": {**probe, "initialDelaySeconds": 10},
        "readinessProbe": probe,
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/bench"},
            {"name": "scratch", "mountPath": "/var/run/bench"},
        ],
    }


def rights(user: str, others: int) -> Iterator[tuple[str, Wire]]:
    """Roles and bindings, each with where it is made: the user's, and those of so many others."""
    rule = {
        "apiGroups": ["", "apps"],
        "resources": ["configmaps", "deployments"],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
    }
    role = {"metadata": {"name": "bench"}, "rules": [rule]}
    yield f"{_RBAC}/clusterroles", {"apiVersion": _RBAC_VERSION, "kind": "ClusterRole", **role}
    for number in range(others):
        yield f"{_RBAC}/clusterrolebindings", _binding(f"other-{number}", "view")
    yield f"{_RBAC}/clusterrolebindings", _binding(user, "bench")


def _binding(user: str, role: str) -> Wire:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": _RBAC_VERSION,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"bench-{user}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
    }


def _version(number: int) -> str:
    return f"{number:0{WIDTH}}"


def configmaps(namespace: str) -> str:
    return f"{NAMESPACES}/{namespace}/configmaps"


def deployments(namespace: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/deployments"


def get(path: str) -> bytes:
    return _message("GET", path, b"", "")


def post(path: str, obj: Wire) -> bytes:
    return _message("POST", f"{path}?fieldManager={MANAGER}", orjson.dumps(obj))


def put(path: str, obj: Wire) -> bytes:
    """Replace an object whatever its version is: there is one writer to each."""
    path = f"{path}/{obj['metadata']['name']}?fieldManager={MANAGER}"
    return _message("PUT", path, orjson.dumps(obj))


def merge_patch(path: str, name: str, patch: Wire) -> bytes:
    path = f"{path}/{name}?fieldManager={MANAGER}"
    return _message("PATCH", path, orjson.dumps(patch), "application/merge-patch+json")


def configmap_patch(number: int) -> Wire:
    return {"data": {"version": _version(number)}}


def deployment_patch(number: int) -> Wire:
    """What a roll-out by patch looks like: an annotation of the pod template changes."""
    annotations = {"bench/version": _version(number)}
    return {"spec": {"template": {"metadata": {"annotations": annotations}}}}


def _message(method: str, path: str, body: bytes, content_type: str = "application/json") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\n"
    head += "Accept: application/json\r\n"
    if content_type:
        head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body
