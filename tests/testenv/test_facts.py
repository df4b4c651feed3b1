"""The facts of Kubernetes' kinds: spot checks against what is known, and all of it regenerated."""

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from typing import Any

import pytest

from atoll.apiserver.schemas.facts import REF, KindFacts, SubresourceFacts, load
from atoll.apiserver.schemas.schema import ABSENT, Schema
from scripts.facts import SERVED, TARGET, collect
from testenv.build import versions
from testenv.cluster import Cluster

CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
FACTS = load()


def at(definition: str, path: str) -> Schema:
    """The schema at a dotted path, where [] is an element."""
    node: Schema | None = FACTS.schema(definition)
    for step in path.split("."):
        assert node is not None, path
        node = node.element if step == "[]" else node.fields[step]
    assert node is not None, path
    return node


def kind(plural: str, group: str = "") -> KindFacts:
    return next(k for k in FACTS.kinds if (k.plural, k.group) == (plural, group))


def nodes(schema: Schema, seen: set[int]) -> Iterator[Schema]:
    if id(schema) in seen:
        return
    seen.add(id(schema))
    yield schema
    for child in (*schema.fields.values(), schema.element):
        if child is not None:
            yield from nodes(child, seen)


DEPLOYMENT, POD_SPEC = "io.k8s.api.apps.v1.Deployment", "spec.template.spec"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(
            f"{POD_SPEC}.containers",
            {"type": "list", "merge": True, "merge_key": "name", "list_type": "map",
             "list_keys": ("name",), "retain_keys": False},
            id="containers merge by name",
        ),
        pytest.param(
            f"{POD_SPEC}.containers.[].ports",
            {"merge_key": "containerPort", "list_keys": ("containerPort", "protocol")},
            id="container ports have two keys",
        ),
        pytest.param(
            f"{POD_SPEC}.containers.[].ports.[].protocol",
            {"type": "string", "default": "TCP"},
            id="the protocol is TCP if not said",
        ),
        pytest.param(
            f"{POD_SPEC}.volumes",
            {"merge": True, "merge_key": "name", "retain_keys": True},
            id="volumes retain keys",
        ),
        pytest.param(
            f"{POD_SPEC}.tolerations",
            {"type": "list", "list_type": "atomic", "merge": False, "merge_key": ""},
            id="tolerations are replaced",
        ),
        pytest.param(
            f"{POD_SPEC}.nodeSelector", {"type": "map", "atomic": True}, id="node selector"
        ),
        pytest.param(
            f"{POD_SPEC}.containers.[].resources.limits.[]",
            {"type": "string", "format": "quantity", "name": "Quantity"},
            id="quantities",
        ),
        pytest.param(
            f"{POD_SPEC}.containers.[].livenessProbe.httpGet.port",
            {"type": "int-or-string"},
            id="int or string",
        ),
        pytest.param(
            "spec.strategy",
            {"type": "object", "retain_keys": True, "default": {}, "name": "DeploymentStrategy"},
            id="a use adds to its type",
        ),
        pytest.param(
            "spec.selector",
            {"type": "object", "atomic": True, "name": "LabelSelector",
             "definition": META + "LabelSelector"},
            id="selectors are atomic",
        ),
        pytest.param(
            "spec.replicas",
            {"type": "integer", "format": "int32", "default": ABSENT},
            id="replicas are int32",
        ),
        pytest.param("spec", {"required": ("selector", "template")}, id="required fields"),
        pytest.param(
            "status.conditions",
            {"merge": True, "merge_key": "type", "list_type": "map", "list_keys": ("type",)},
            id="conditions",
        ),
        pytest.param(
            "metadata.finalizers", {"merge": True, "list_type": "set"}, id="finalizers are a set"
        ),
        pytest.param(
            "metadata.ownerReferences",
            {"merge": True, "merge_key": "uid", "list_type": "map", "list_keys": ("uid",)},
            id="owners",
        ),
        pytest.param(
            "metadata.creationTimestamp", {"type": "string", "format": "date-time"}, id="times"
        ),
        pytest.param("metadata.managedFields.[].fieldsV1", {"type": "any"}, id="managed fields"),
        pytest.param(
            "metadata.labels", {"type": "map", "atomic": False}, id="labels merge key by key"
        ),
    ],
)  # fmt: skip
def test_of_a_deployment_it_is_known(path: str, expected: dict[str, Any]) -> None:
    node = at(DEPLOYMENT, path)
    assert {name: getattr(node, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("definition", "path", "expected"),
    [
        pytest.param(
            "io.k8s.api.core.v1.Secret", "data.[]", {"type": "string", "format": "byte"},
            id="secrets are bytes",
        ),
        pytest.param(
            "io.k8s.api.core.v1.Service", "spec.ports",
            {"list_keys": ("port", "protocol"), "merge_key": "port"},
            id="service ports have two keys",
        ),
        pytest.param(
            "io.k8s.api.coordination.v1.Lease", "spec.renewTime",
            {"type": "string", "format": "micro-time"},
            id="leases have microseconds",
        ),
        pytest.param(
            "io.k8s.api.apps.v1.ControllerRevision", "data", {"type": "any"}, id="raw extensions"
        ),
        pytest.param(
            "io.k8s.api.core.v1.PersistentVolume", "spec.claimRef",
            {"atomic": False, "name": "ObjectReference"},
            id="a use may make an atomic type granular",
        ),
        pytest.param(
            CRD + "CustomResourceDefinition", "spec.versions.[].subresources.status",
            {"type": "object", "fields": {}},
            id="an empty object is still an object",
        ),
    ],
)  # fmt: skip
def test_of_other_kinds_it_is_known(definition: str, path: str, expected: dict[str, Any]) -> None:
    node = at(definition, path)
    assert {name: getattr(node, name) for name in expected} == expected


def test_a_json_schema_contains_itself() -> None:
    schema = FACTS.schema(CRD + "JSONSchemaProps")
    assert schema.fields["not"] is schema
    assert schema.fields["properties"].element is schema
    assert schema.fields["additionalProperties"].type == "any"
    assert (schema.fields["description"].type, schema.fields["$ref"].type) == ("string", "string")


def test_a_definition_is_one_node_wherever_it_is_used() -> None:
    assert at("io.k8s.api.core.v1.Pod", "spec.containers.[]") is at(
        DEPLOYMENT, f"{POD_SPEC}.containers.[]"
    )
    assert FACTS.schema(DEPLOYMENT) is load().schema(DEPLOYMENT)


def test_a_copy_made_while_its_type_was_filling_up_has_all_fields() -> None:
    """Whichever definition is asked for first, uses of one definition have the same fields."""
    for first in FACTS.definitions:
        fresh = replace(FACTS, _built={})
        for node in nodes(fresh.schema(first), set()):
            if node.definition:
                assert node.fields is fresh.schema(node.definition).fields


def test_every_definition_becomes_a_schema_that_says_what_it_is() -> None:
    seen: set[int] = set()
    for definition in FACTS.definitions:
        schema = FACTS.schema(definition)
        assert (schema.definition, schema.name) == (definition, definition.rpartition(".")[2])
        for node in nodes(schema, seen):
            assert node.type not in ("list", "map") or node.element is not None
            assert node.list_type != "map" or node.list_keys
            assert node.type == "object" or not node.fields


def test_only_types_that_read_their_own_json_are_anything() -> None:
    seen: set[int] = set()
    anything = {
        node.name
        for definition in FACTS.definitions
        for node in nodes(FACTS.schema(definition), seen)
        if node.type == "any"
    }
    assert anything == {
        "RawExtension", "FieldsV1", "Patch", "JSON", "JSONSchemaPropsOrArray",
        "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray",
    }  # fmt: skip


def test_kinds_are_as_discovery_shows_them() -> None:
    deployments = kind("deployments", "apps")
    assert (deployments.kind, deployments.singular) == ("Deployment", "deployment")
    assert (deployments.namespaced, deployments.definition) == (True, DEPLOYMENT)
    assert (deployments.short_names, deployments.categories) == (("deploy",), ("all",))
    assert deployments.subresources == {
        "scale": SubresourceFacts(("get", "patch", "update"), "autoscaling", "v1", "Scale"),
        "status": SubresourceFacts(("get", "patch", "update"), "apps", "v1", "Deployment"),
    }
    namespaces = kind("namespaces")
    assert not namespaces.namespaced
    assert "deletecollection" not in namespaces.verbs
    assert namespaces.subresources["finalize"].verbs == ("update",)


def test_groups_are_in_discovery_order() -> None:
    names = [group.group for group in FACTS.groups]
    assert names[:4] == ["", "apiregistration.k8s.io", "apps", "events.k8s.io"]
    priorities = [group.priority for group in FACTS.groups]
    assert priorities == sorted(priorities, reverse=True)
    assert {(g.group, v.version) for g in FACTS.groups for v in g.versions} == set(SERVED)


def test_every_kind_has_a_list_in_the_document_of_its_version() -> None:
    for group in FACTS.groups:
        for version in group.versions:
            document = FACTS.closure(version.roots)
            for one in FACTS.kinds:
                if (one.group, one.version) == (group.group, version.version):
                    assert one.definition in document
                    assert "list" not in one.verbs or f"{one.definition}List" in document


def test_openapi_refers_only_to_what_its_closure_holds() -> None:
    closure = FACTS.closure([DEPLOYMENT])
    text = json.dumps({name: FACTS.openapi(name) for name in closure})
    referred = {part.split('"')[0] for part in text.split(REF)[1:]}
    assert referred <= set(closure)
    assert '"description"' not in text


def test_delete_options_belong_to_the_version_of_their_document() -> None:
    tag = "x-kubernetes-group-version-kind"
    name = META + "DeleteOptions"
    core = {"group": "", "kind": "DeleteOptions", "version": "v1"}
    apps = core | {"group": "apps"}
    assert FACTS.openapi(name)[tag] == [core]
    assert FACTS.openapi(name, "apps", "v1")[tag] == [core, apps]
    assert FACTS.openapi(DEPLOYMENT, "apps", "v1") == FACTS.openapi(DEPLOYMENT)


def test_the_facts_are_those_of_the_pinned_kubernetes() -> None:
    assert FACTS.kubernetes == "v" + versions()["kubernetes"]


def test_the_facts_ship_with_the_package() -> None:
    shipped = resources.files("atoll.apiserver.schemas") / "kubernetes.json"
    assert shipped.read_bytes() == TARGET.read_bytes()


def test_the_facts_are_what_kubernetes_says_today(kubernetes: Cluster) -> None:
    assert collect(kubernetes.get) == TARGET.read_text(encoding="utf-8")


def test_openapi_documents_span_exactly_what_kubernetes_serves(kubernetes: Cluster) -> None:
    for group in FACTS.groups:
        for version in group.versions:
            prefix = f"apis/{group.group}" if group.group else "api"
            served = kubernetes.get(f"/openapi/v3/{prefix}/{version.version}")
            assert list(FACTS.closure(version.roots)) == sorted(served["components"]["schemas"])
