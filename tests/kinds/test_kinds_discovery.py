"""Discovery says what a real kube-apiserver says of the same groups."""

import json

import pytest
from kinds_recorded import recorded, with_definitions

from atoll.apiserver.discovery import Discovery

# What Kubernetes stores in an older version.
STORED_OLDER = (
    "CustomResourceDefinition",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
)
# Ways to nodes are for who puts a server together, not for kinds.
UNSERVED_PARTS = ("attach", "exec", "log", "portforward", "proxy")
PATHS = [path for path in recorded("discovery") if not path.endswith("aggregated")]


def ours(path, aggregated=None, catalog=None):
    discovery = Discovery(catalog or with_definitions(), "192.0.2.2:26597")
    return discovery.document(tuple(path.strip("/").split("/")), aggregated)


def comparable(document):
    """Without what we do not serve, and custom kinds in the order of their names."""
    if document["kind"] == "APIResourceList":
        kept = [
            r for r in document["resources"] if r["name"].partition("/")[2] not in UNSERVED_PARTS
        ]
        kept.sort(key=lambda r: r["name"].partition("/")[0])
        for entry in kept:
            if entry["kind"] in STORED_OLDER:
                entry.pop("storageVersionHash", None)
        return {**document, "resources": kept}
    for group in document.get("items", []):
        for version in group["versions"]:
            version["resources"] = [_served(resource) for resource in version["resources"]]
    return document


def _served(resource):
    parts = resource.pop("subresources", [])
    parts = [part for part in parts if part["subresource"] not in UNSERVED_PARTS]
    return resource | ({"subresources": parts} if parts else {})


@pytest.mark.parametrize("path", PATHS)
def test_the_plain_documents_are_those_of_kubernetes(path):
    document = ours(path)
    real = json.loads(json.dumps(recorded("discovery")[path]))
    assert comparable(json.loads(document.body)) == comparable(real)
    assert document.content_type == "application/json"


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_the_aggregated_documents_are_those_of_kubernetes(path):
    document = ours(path, "v2")
    real = json.loads(json.dumps(recorded("discovery")[f"{path} aggregated"]))
    assert comparable(json.loads(document.body)) == comparable(real)
    kind = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert document.content_type == f"application/json;{kind}"
    assert document.etag.startswith('"')


def test_the_keys_of_a_resource_stand_in_kubernetes_order():
    real = recorded("discovery")["/apis/apps/v1"]["resources"]
    found = json.loads(ours("/apis/apps/v1").body)["resources"]
    assert [list(entry) for entry in found] == [list(entry) for entry in real]


def test_the_older_aggregated_form_differs_in_its_version_alone():
    new, old = (json.loads(ours("/apis", v).body) for v in ("v2", "v2beta1"))
    assert old["apiVersion"] == "apidiscovery.k8s.io/v2beta1"
    assert old["items"] == new["items"]


@pytest.mark.parametrize(
    "path", ["/api/v2", "/apis/nowhere", "/apis/apps/v9", "/apis/nowhere/v1", "/version"]
)
def test_there_is_no_document_of_what_is_not_served(path):
    assert ours(path) is None


def test_a_document_is_kept_until_the_catalog_changes():
    catalog = with_definitions()
    discovery = Discovery(catalog)
    before = discovery.document(("apis",), "v2")
    assert discovery.document(("apis",), "v2") is before
    catalog.drop("widgets.ex.io")
    after = discovery.document(("apis",), "v2")
    assert after.etag != before.etag
    assert b"widgets" not in after.body
