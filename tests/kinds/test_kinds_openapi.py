"""The OpenAPI documents have what kubectl looks for, as a real kube-apiserver's do."""

import gzip
import json

import pytest
from kinds_recorded import recorded, with_definitions

from atoll.apiserver.custom import resources_of
from atoll.apiserver.openapi import OpenApi
from atoll.apiserver.schemas.facts import load

GVK = "x-kubernetes-group-version-kind"


def openapi(catalog=None):
    return OpenApi(catalog or with_definitions(), load())


def document(path):
    return json.loads(gzip.decompress(openapi().document(path).body))


def operations(doc):
    """Each operation as what kubectl can see of it."""
    return {
        (path, method): (
            operation["operationId"],
            operation["x-kubernetes-action"],
            operation[GVK],
        )
        for path, methods in doc["paths"].items()
        for method, operation in methods.items()
        if method != "parameters" and GVK in operation and "/watch/" not in path
    }


def refs(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref":
                yield inner.removeprefix("#/components/schemas/")
            else:
                yield from refs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from refs(inner)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("apis/ex.io/v1", "custom", id="custom kinds"),
        pytest.param("apis/coordination.k8s.io/v1", "openapi", id="leases"),
    ],
)
def test_the_operations_are_those_of_kubernetes(path, name):
    assert operations(document(path)) == operations(recorded(name)["openapi"])


def test_the_schemas_of_custom_kinds_are_those_of_kubernetes():
    real = recorded("custom")["openapi"]["components"]["schemas"]
    ours = without_descriptions(document("apis/ex.io/v1")["components"]["schemas"])
    for name in ("io.ex.v1.Widget", "io.ex.v1.WidgetList", "io.ex.v1.Gear", "io.ex.v1.GearList"):
        assert ours[name] == real[name]


def without_descriptions(value):
    if isinstance(value, dict):
        return {k: without_descriptions(v) for k, v in value.items() if k != "description"}
    return [without_descriptions(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path", ["api/v1", "apis/apps/v1", "apis/batch/v1", "apis/ex.io/v1"])
def test_every_schema_that_is_mentioned_is_there(path):
    doc = document(path)
    assert set(refs(doc)) <= set(doc["components"]["schemas"])


@pytest.mark.parametrize("path", ["api/v1", "apis/apps/v1", "apis/ex.io/v1beta1"])
def test_every_patch_says_that_fields_are_validated(path):
    patches = [ops["patch"] for ops in document(path)["paths"].values() if "patch" in ops]
    assert patches
    for patch in patches:
        names = {parameter["name"] for parameter in patch["parameters"]}
        assert {"fieldValidation", "dryRun", "fieldManager", "force"} <= names


def test_merge_keys_are_told():
    schemas = document("apis/apps/v1")["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"


def test_the_index_names_every_group_version_with_its_hash():
    served = openapi()
    index = json.loads(served.index().body)["paths"]
    assert set(index) == {
        *("api/v1", "apis/apps/v1", "apis/batch/v1", "apis/apiextensions.k8s.io/v1"),
        *("apis/coordination.k8s.io/v1", "apis/events.k8s.io/v1", "apis/discovery.k8s.io/v1"),
        *("apis/authentication.k8s.io/v1", "apis/authorization.k8s.io/v1"),
        *("apis/certificates.k8s.io/v1", "apis/scheduling.k8s.io/v1", "apis/storage.k8s.io/v1"),
        *("apis/rbac.authorization.k8s.io/v1", "apis/ex.io/v1", "apis/ex.io/v1beta1"),
        *("apis/admissionregistration.k8s.io/v1", "apis/apiregistration.k8s.io/v1"),
        *("apis/autoscaling/v1", "apis/autoscaling/v2", "apis/networking.k8s.io/v1"),
        *("apis/node.k8s.io/v1", "apis/policy/v1", "apis/resource.k8s.io/v1"),
        "apis/flowcontrol.apiserver.k8s.io/v1",
    }
    for path, entry in index.items():
        url = f"/openapi/v3/{path}?hash={served.hash_of(path)}"
        assert entry == {"serverRelativeURL": url}
        assert served.document(path).etag == f'"{served.hash_of(path)}"'


def test_there_is_no_document_of_what_is_not_served():
    assert openapi().document("apis/nowhere/v1") is None
    assert openapi().hash_of("apis/nowhere/v1") is None


def test_the_hash_changes_with_the_schema_and_only_for_its_own_group():
    catalog = with_definitions()
    served = openapi(catalog)
    before = {path: served.hash_of(path) for path in ("api/v1", "apis/ex.io/v1")}
    kept = served.document("api/v1")
    definition = json.loads(json.dumps(catalog.find("ex.io", "v1", "widgets").definition))
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["weight"] = {"type": "integer"}
    catalog.put("widgets.ex.io", resources_of(definition))
    assert served.hash_of("api/v1") == before["api/v1"]
    assert served.hash_of("apis/ex.io/v1") != before["apis/ex.io/v1"]
    assert b"weight" in gzip.decompress(served.document("apis/ex.io/v1").body)
    assert served.document("api/v1") is kept
