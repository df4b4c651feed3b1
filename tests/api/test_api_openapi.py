"""What the server says of its kinds in OpenAPI v2 and v3, as generators and others read it."""

import gzip
import json
import time
from collections.abc import Callable
from typing import Any

from backends import Backend
from manifests import definition

from atoll.wire import Wire

V2 = "/openapi/v2"
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
GVK = "x-kubernetes-group-version-kind"

SPEC: Wire = {
    "type": "object",
    "required": ["size", "maybe"],
    "properties": {
        "size": {"type": "integer", "maximum": 10, "default": 3, "format": "int32"},
        "maybe": {"type": "object", "nullable": True, "properties": {"a": {"type": "string"}}},
        "either": {"x-kubernetes-int-or-string": True},
        "free": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"a": {"type": "string"}},
        },
        "template": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "inner": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "object"}},
        },
        "list": {
            "type": "array",
            "maxItems": 3,
            "items": {
                "type": "object",
                "required": ["k"],
                "properties": {"k": {"type": "string"}},
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        },
        "map": {
            "type": "object",
            "additionalProperties": {"type": "number", "nullable": True},
            "x-kubernetes-map-type": "atomic",
        },
        "choice": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string", "enum": ["x", "y"]}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        "anything": {"x-kubernetes-preserve-unknown-fields": True},
        "things": {
            "type": "array",
            "x-kubernetes-preserve-unknown-fields": True,
            "items": {"type": "string"},
        },
    },
}
METADATA = {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
SPEC_IN_V2: Wire = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "maximum": 10, "format": "int32"},
        "maybe": {},
        "either": {"x-kubernetes-int-or-string": True},
        "free": {"x-kubernetes-preserve-unknown-fields": True},
        "template": {
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "inner": {
            "type": "object",
            "required": ["kind", "apiVersion"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": METADATA,
                "spec": {"type": "object"},
            },
            "x-kubernetes-embedded-resource": True,
        },
        "list": SPEC["properties"]["list"],
        "map": {
            "type": "object",
            "additionalProperties": {},
            "x-kubernetes-map-type": "atomic",
        },
        "choice": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string", "enum": ["x", "y"]}},
        },
        "anything": {"x-kubernetes-preserve-unknown-fields": True},
        "things": {"x-kubernetes-preserve-unknown-fields": True},
    },
}


def silent(value: Any) -> Any:
    """A schema without its prose."""
    if isinstance(value, dict):
        kept = {k: silent(v) for k, v in value.items() if k != "description"}
        return kept | ({"required": sorted(kept["required"])} if "required" in kept else {})
    return [silent(each) for each in value] if isinstance(value, list) else value


def published(api: Backend, path: str, holds: Callable[[Wire], bool]) -> Wire:
    """A document once it says what it is to say: the real server publishes a little later."""
    deadline = time.monotonic() + 120
    while True:
        document = api.read(path)
        if holds(document):
            return document
        assert time.monotonic() < deadline, f"{path} does not say it"
        time.sleep(0.1)


def test_v2_tells_of_custom_kinds_in_its_own_words(api: Backend, unique: str) -> None:
    group = f"{unique}.example.com"
    made = definition("Gizmo", group, SPEC, subresources={"status": {}})
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", made)
    name = f"com.example.{unique}.v1.Gizmo"
    document = published(api, V2, lambda found: name in found["definitions"])
    kind = {"group": group, "kind": "Gizmo", "version": "v1"}
    expected = {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": METADATA,
            "spec": SPEC_IN_V2,
            "status": {"x-kubernetes-preserve-unknown-fields": True},
        },
        GVK: [kind],
    }
    assert silent(document["definitions"][name]) == silent(expected)
    listed = document["definitions"][f"{name}List"]
    assert listed["properties"]["items"]["items"] == {"$ref": f"#/definitions/{name}"}
    root = f"/apis/{group}/v1"
    one = f"{root}/namespaces/{{namespace}}/gizmos/{{name}}"
    found = {path for path in document["paths"] if path.startswith(root + "/")}
    assert found == {f"{root}/gizmos", one.removesuffix("/{name}"), one, f"{one}/status"}
    patch = document["paths"][one]["patch"]
    assert patch[GVK] == kind
    assert patch["responses"]["200"]["schema"] == {"$ref": f"#/definitions/{name}"}
    assert set(patch["consumes"]) == {
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    }


def test_a_kind_that_keeps_unknown_fields_is_told_of_in_v2_as_any_object(
    api: Backend, unique: str
) -> None:
    group = f"{unique}.example.com"
    made = definition("Gizmo", group, SPEC)
    made["spec"]["versions"][0]["schema"] = {
        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    }
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", made)
    name = f"com.example.{unique}.v1.Gizmo"
    document = published(api, V2, lambda found: name in found["definitions"])
    kind = {"group": group, "kind": "Gizmo", "version": "v1"}
    assert document["definitions"][name] == {"type": "object", GVK: [kind]}


def test_embedded_objects_are_told_of_in_v3_with_what_all_objects_have(
    api: Backend, unique: str
) -> None:
    group = f"{unique}.example.com"
    made = definition("Gizmo", group, SPEC)
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", made)
    path = f"apis/{group}/v1"
    published(api, "/openapi/v3", lambda found: path in found["paths"])
    schemas = api.read(f"/openapi/v3/{path}")["components"]["schemas"]
    spec = schemas[f"com.example.{unique}.v1.Gizmo"]["properties"]["spec"]["properties"]
    for name in ("template", "inner"):
        assert {"apiVersion", "kind", "metadata"} <= set(spec[name]["properties"])
        assert set(spec[name]["required"]) == {"apiVersion", "kind"}
    assert spec["either"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]


def test_v2_says_how_lists_are_merged_and_which_kinds_there_are(api: Backend) -> None:
    document = api.read(V2)
    assert document["swagger"] == "2.0"
    definitions = document["definitions"]
    containers = definitions["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    deployment = definitions["io.k8s.api.apps.v1.Deployment"]
    assert deployment[GVK] == [{"group": "apps", "kind": "Deployment", "version": "v1"}]
    quantity = definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert silent(quantity) == {"type": "string"}
    assert "default" not in definitions["io.k8s.api.core.v1.ContainerPort"]["properties"]["name"]


def test_v2_is_revalidated_by_its_etag(api: Backend) -> None:
    asked = {"accept": "application/json"}
    tag = api.request("GET", V2, headers=asked).headers["etag"]
    again = api.request("GET", V2, headers=asked | {"if-none-match": tag})
    assert (again.status, again.body) == (304, b"")


def test_v2_comes_gzipped_to_whoever_takes_that(api: Backend) -> None:
    asked = {"accept": "application/json"}
    plain = api.request("GET", V2, headers=asked)
    zipped = api.request("GET", V2, headers=asked | {"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert zipped.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(zipped.body)) == plain.json()


def test_v2_comes_as_protobuf_to_whoever_asks_for_it(api: Backend) -> None:
    answer = api.request("GET", V2, headers={"accept": PROTOBUF})
    assert answer.status == 200
    assert answer.headers["content-type"] == PROTOBUF.replace("@", ".")
    assert answer.body.startswith(b"\x0a\x032.0\x12")
    assert b"io.k8s.api.apps.v1.Deployment" in answer.body
