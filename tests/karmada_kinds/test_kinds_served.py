"""Karmada's kinds through the whole API server: written, read, listed, printed, explained."""

import pytest
from karmada_plane import TABLE, Asking
from karmada_samples import BY_KIND, OWN_SAMPLES, SAMPLES, Sample

ALL = (*SAMPLES, *OWN_SAMPLES)
every_kind = pytest.mark.parametrize("sample", ALL, ids=[sample.kind for sample in ALL])
MERGE = "application/merge-patch+json"
BINDINGS = "/apis/work.karmada.io/v1alpha1/namespaces/default/resourcebindings"


@every_kind
def test_an_object_is_created_read_listed_and_deleted(plane: Asking, name: str, sample: Sample):
    made = plane.done("POST", sample.path(), sample.named(name))
    assert (made["apiVersion"], made["kind"]) == (sample.api_version, sample.kind)
    assert made["metadata"]["generation"] == 1
    assert plane.done("GET", sample.path(name)) == made
    listed = plane.done("GET", sample.path())
    assert listed["kind"] == f"{sample.kind}List"
    assert made in listed["items"]
    plane.done("DELETE", sample.path(name))
    status, left = plane.ask("GET", sample.path(name))
    assert status == 404 or left["metadata"]["deletionTimestamp"]


@every_kind
def test_an_object_is_patched_and_replaced(plane: Asking, name: str, sample: Sample):
    plane.done("POST", sample.path(), sample.named(name))
    change = {"metadata": {"labels": {"tier": "gold"}, "annotations": {"note": "x"}}}
    patched = plane.done("PATCH", sample.path(name), change, content_type=MERGE)
    assert patched["metadata"]["labels"]["tier"] == "gold"
    again = plane.done("PUT", sample.path(name), patched)
    assert again == patched  # nothing changed, so nothing was written


@every_kind
def test_unknown_fields_are_pruned(plane: Asking, name: str, sample: Sample):
    written = sample.named(name)
    written["surprise"] = 1
    if "spec" in written:
        written["spec"] = {**written["spec"], "surprise": {"a": 1}}
    made = plane.done("POST", sample.path(), written)
    assert "surprise" not in made
    assert "surprise" not in made.get("spec", {})


@every_kind
def test_status_is_written_apart_where_karmada_has_it_apart(
    plane: Asking, name: str, sample: Sample
):
    made = plane.done("POST", sample.path(), {**sample.named(name), "status": sample.status})
    assert "status" not in made
    told = {**made, "status": sample.status, "metadata": {**made["metadata"], "labels": {}}}
    if sample.status is None:
        assert plane.ask("PUT", sample.path(name, "status"), told)[0] == 404
        return
    seen = plane.done("PUT", sample.path(name, "status"), told)
    assert seen["status"] == sample.status
    assert seen["metadata"].get("labels") == made["metadata"].get("labels")
    assert seen["metadata"]["generation"] == 1


@every_kind
def test_tables_have_their_columns(plane: Asking, name: str, sample: Sample):
    plane.done("POST", sample.path(), sample.named(name))
    table = plane.done("GET", sample.path(), accept=TABLE)
    assert tuple(column["name"] for column in table["columnDefinitions"]) == sample.columns


@every_kind
def test_discovery_knows_short_names_and_what_a_kind_can(plane: Asking, sample: Sample):
    found = plane.done("GET", f"/apis/{sample.api_version}")["resources"]
    one = next(each for each in found if each["name"] == sample.plural)
    assert one["kind"] == sample.kind
    assert one["namespaced"] == sample.namespaced
    assert tuple(one.get("shortNames", ())) == sample.short
    assert "create" in one["verbs"]
    has_status = any(each["name"] == f"{sample.plural}/status" for each in found)
    assert has_status == (sample.status is not None)


def test_rows_show_what_a_user_looks_for(plane: Asking, name: str):
    sample = BY_KIND["Cluster"]
    written = sample.named(name)
    written["spec"] = {**written["spec"], "zones": ["a", "b"], "region": "north"}
    made = plane.done("POST", sample.path(), written)
    plane.done("PUT", sample.path(name, "status"), {**made, "status": sample.status})
    table = plane.done("GET", sample.path(name), accept=TABLE)
    (row,) = table["rows"]
    assert row["cells"][:4] == [name, "v1.36.4", "Push", "True"]
    assert row["cells"][5:8] == ['["a","b"]', "north", None]


def test_strange_fields_are_named_if_the_client_is_strict(plane: Asking, name: str):
    sample = BY_KIND["PropagationPolicy"]
    written = sample.named(name)
    written["spec"] = {**written["spec"], "atoll": {"selct": {}}}
    path = f"{sample.path()}?fieldValidation=Strict"
    assert "spec.atoll.selct" in plane.refused("POST", path, written, 400)["message"]


class TestTheOlderBinding:
    def stored(self, plane: Asking, name: str) -> None:
        sample = BY_KIND["ResourceBinding"]
        written = sample.named(name)
        written["spec"] = {
            **written["spec"],
            "replicas": 3,
            "replicaRequirements": {"resourceRequest": {"cpu": "250m"}},
            "clusters": [{"name": "one", "replicas": 3}],
            "placement": {"clusterAffinity": {"clusterNames": ["one"]}},
        }
        made = plane.done("POST", sample.path(), written)
        health = {"clusterName": "one", "applied": True, "health": "Healthy"}
        status = {"aggregatedStatus": [health], "schedulerObservedGeneration": 1}
        plane.done("PUT", sample.path(name, "status"), {**made, "status": status})

    def test_is_read_with_everything_in_its_old_place(self, plane: Asking, name: str):
        self.stored(plane, name)
        seen = plane.done("GET", f"{BINDINGS}/{name}")
        assert seen["apiVersion"] == "work.karmada.io/v1alpha1"
        assert seen["spec"] == {
            "resource": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": "web",
                "namespace": "default",
                "replicas": 3,
                "resourcePerReplicas": {"cpu": "250m"},
            },
            "clusters": [{"name": "one", "replicas": 3}],
        }
        assert seen["status"] == {"aggregatedStatus": [{"clusterName": "one", "applied": True}]}
        assert seen in plane.done("GET", BINDINGS)["items"]

    @pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
    def test_is_not_written_since_that_would_lose_the_rest(
        self, plane: Asking, name: str, method: str
    ):
        self.stored(plane, name)
        assert plane.ask(method, f"{BINDINGS}/{name}", {}, content_type=MERGE)[0] == 405
        assert plane.ask("PUT", f"{BINDINGS}/{name}/status", {})[0] == 404


def test_our_own_fields_are_explained(plane: Asking):
    document = plane.done("GET", "/openapi/v3/apis/policy.karmada.io/v1alpha1")
    schemas = document["components"]["schemas"]
    for kind in ("PropagationPolicy", "ClusterPropagationPolicy"):
        schema = schemas[f"io.karmada.policy.v1alpha1.{kind}"]
        assert schema["description"].startswith("Says where")
        ours = schema["properties"]["spec"]["properties"]["atoll"]
        assert ours["description"].startswith("Atoll's additions")
        assert "Cheapest" in ours["properties"]["select"]["properties"]["order"]["description"]
        for field in ("failback", "reschedule"):
            assert "the default" in ours["properties"][field]["description"]


def test_a_definition_of_what_is_served_anyway_is_refused(plane: Asking):
    names = {"plural": "works", "kind": "Work"}
    version = {"name": "v1alpha1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object"}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "works.work.karmada.io"},
        "spec": {
            "group": "work.karmada.io",
            "names": names,
            "scope": "Namespaced",
            "versions": [version],
        },
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    refusal = plane.refused("POST", path, definition, 403)
    assert "works.work.karmada.io is served by this server itself" in refusal["message"]
