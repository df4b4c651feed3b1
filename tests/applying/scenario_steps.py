"""The kinds and the steps that scenarios are made of."""

from typing import Any

Json = dict[str, Any]

CRD: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "shapes.rec.example.io"},
    "spec": {
        "group": "rec.example.io",
        "scope": "Namespaced",
        "names": {"plural": "shapes", "singular": "shape", "kind": "Shape"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer"},
                                    "ratio": {"type": "number"},
                                    "port": {"x-kubernetes-int-or-string": True},
                                    "tags": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "set",
                                        "items": {"type": "string"},
                                    },
                                    "numbers": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "set",
                                        "items": {"type": "integer"},
                                    },
                                    "words": {"type": "array", "items": {"type": "string"}},
                                    "doors": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["side", "floor"],
                                        "items": {
                                            "type": "object",
                                            "required": ["side", "floor"],
                                            "properties": {
                                                "side": {"type": "string"},
                                                "floor": {"type": "integer", "default": 0},
                                                "colour": {"type": "string"},
                                                "locks": {
                                                    "type": "object",
                                                    "additionalProperties": {"type": "string"},
                                                },
                                            },
                                        },
                                    },
                                    "names": {
                                        "type": "object",
                                        "additionalProperties": {
                                            "type": "object",
                                            "properties": {
                                                "first": {"type": "string"},
                                                "last": {"type": "string"},
                                            },
                                        },
                                    },
                                    "point": {
                                        "type": "object",
                                        "x-kubernetes-map-type": "atomic",
                                        "properties": {
                                            "x": {"type": "integer"},
                                            "y": {"type": "integer"},
                                        },
                                    },
                                    "free": {
                                        "type": "object",
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                },
                            },
                            "status": {
                                "type": "object",
                                "properties": {
                                    "phase": {"type": "string"},
                                    "seen": {"type": "integer"},
                                },
                            },
                        },
                    }
                },
            }
        ],
    },
}

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SHAPES = "/apis/rec.example.io/v1/namespaces/default/shapes"

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def step(verb: str, manager: str, body: Any, **more: Any) -> Json:
    return {"verb": verb, "manager": manager, "body": body, **more}


def create(manager: str, body: Json, **more: Any) -> Json:
    return step("create", manager, body, **more)


def update(manager: str, body: Any, **more: Any) -> Json:
    """A PUT of the live object with this merged into it."""
    return step("update", manager, body, **more)


def merge(manager: str, body: Any, **more: Any) -> Json:
    return step("merge", manager, body, **more)


def apply(manager: str, body: Json, **more: Any) -> Json:
    return step("apply", manager, body, **more)


def config_map(data: Json | None = None, **metadata: Any) -> Json:
    body: Json = {"metadata": metadata}
    if data is not None:
        body["data"] = data
    return body


def container(name: str = "web", **more: Any) -> Json:
    return {"name": name, "image": "registry/web:1", **more}


def deployment(*containers: Json, spec: Json | None = None, pod: Json | None = None) -> Json:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": list(containers), **(pod or {})},
    }
    selector = {"matchLabels": {"app": "web"}}
    return {"spec": {"selector": selector, "template": template, **(spec or {})}}


def scale(replicas: int) -> Json:
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": replicas}}


def shape(**spec: Any) -> Json:
    return {"spec": spec}


def scenario(name: str, kind: str, *steps: Json) -> Json:
    return {"name": name, "kind": kind, "steps": list(steps)}
