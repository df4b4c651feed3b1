"""What real clients sent as protobuf is read as what they would have sent as JSON."""

import json
from typing import Any

import pytest
from protobuf_bodies import PROTOBUF, RESOURCES, recorded, resource, without_nulls

from atoll.apiserver.bodies.decoding import decode_body
from atoll.apiserver.bodies.protobuf import read_envelope, read_message
from atoll.apiserver.schemas.facts import load
from testenv.cluster import Cluster

KUBECTL = recorded("kubectl.json", "commands")
# Encoded by Go from objects with every field their kind has, with every field zero, and with none.
CLIENT_GO = recorded("client-go.json", "objects")
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
DEFINITIONS = {(r.api_version, r.kind): r.schema.definition for r in RESOURCES.values()} | {
    ("v1", "Binding"): "io.k8s.api.core.v1.Binding",
    ("v1", "ComponentStatus"): "io.k8s.api.core.v1.ComponentStatus",
    ("v1", "DeleteOptions"): META + "DeleteOptions",
    ("autoscaling/v1", "Scale"): "io.k8s.api.autoscaling.v1.Scale",
    ("authentication.k8s.io/v1", "TokenRequest"): "io.k8s.api.authentication.v1.TokenRequest",
    ("policy/v1", "Eviction"): "io.k8s.api.policy.v1.Eviction",
    ("", "APIResourceList"): META + "APIResourceList",
}


def read(body: bytes) -> Any:
    """The object in a body, whatever it is; a list too."""
    sent = read_envelope(body)
    definition = DEFINITIONS.get((sent.api_version, sent.kind))
    if definition is None:
        definition = DEFINITIONS[sent.api_version, sent.kind.removesuffix("List")] + "List"
    said = {"kind": sent.kind, "apiVersion": sent.api_version}
    return {**said, **read_message(definition, sent.raw)}


@pytest.mark.parametrize("command", KUBECTL)
def test_kubectl_means_what_it_prints(command: str) -> None:
    printed, body = KUBECTL[command]
    assert read(body) == without_nulls(printed)


@pytest.mark.parametrize("case", CLIENT_GO)
def test_go_means_what_it_writes_as_json(case: str) -> None:
    written, body = CLIENT_GO[case]
    assert without_nulls(read(body)) == without_nulls(written)


@pytest.mark.parametrize("command", KUBECTL)
def test_a_body_becomes_the_object_that_json_would_have_become(command: str) -> None:
    printed, body = KUBECTL[command]
    expected = resource(printed["kind"], printed["apiVersion"])
    decoded = decode_body(body, PROTOBUF, expected, validation="Strict")
    text = json.dumps(printed).encode()
    assert decoded == decode_body(text, "application/json", expected, validation="Strict")


def test_every_field_was_sent() -> None:
    """The recorded objects leave out nothing that the facts know of."""
    seen: set[tuple[str, str]] = set()

    def walk(value: Any, schema: Any) -> None:
        if isinstance(value, dict) and schema.type == "object":
            for key, item in value.items():
                seen.add((schema.name, key))
                walk(item, schema.fields[key])
        elif isinstance(value, dict) and schema.type == "map":
            for item in value.values():
                walk(item, schema.element)
        elif isinstance(value, list) and schema.type == "list":
            for item in value:
                walk(item, schema.element)

    for written, _ in CLIENT_GO.values():
        walk(written, load().schema(DEFINITIONS[written["apiVersion"], written["kind"]]))
    kinds = [r.schema for r in RESOURCES.values()]
    missing, met = set(), set()
    while kinds:
        schema = kinds.pop()
        if id(schema) in met:
            continue
        met.add(id(schema))
        if schema.type == "object":
            missing |= {(schema.name, key) for key in schema.fields} - seen
        kinds += [s for s in (*schema.fields.values(), schema.element) if s is not None]
    nested_kinds = {("PersistentVolumeClaim", "kind"), ("PersistentVolumeClaim", "apiVersion")}
    assert missing - nested_kinds == set()


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    ],
)
def test_kubernetes_says_the_same_in_protobuf_and_json(kubernetes: Cluster, path: str) -> None:
    """A list can change between two questions; not much later it will not."""
    for _ in range(5):
        written = kubernetes.get(path)
        answer = kubernetes.request("GET", path, headers={"Accept": PROTOBUF})
        heard = read(answer.body)
        if heard.get("metadata") == written.get("metadata"):
            break
    assert without_nulls(heard) == without_nulls({"apiVersion": "", **written})
