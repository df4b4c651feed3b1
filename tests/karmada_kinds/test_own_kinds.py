"""Our own kinds through the whole API server: prices are checked, explanations shown whole."""

from typing import Any

import pytest
from karmada_plane import TABLE, Asking
from karmada_samples import BY_KIND, OWN_BY_KIND

from atoll.apiserver.authentication import MASTERS
from atoll.dialects.cluster_nodes import Columns, encode
from atoll.dialects.cluster_nodes import wire as nodes_of
from atoll.model.node import Node
from atoll.scheduling.nodes.table import NodeTable

PRICE, WHY = OWN_BY_KIND["ClusterPrice"], OWN_BY_KIND["Explanation"]


def priced(name: str, **spec: Any) -> dict[str, Any]:
    return {**PRICE.named(name), "spec": {"currency": "EUR", "perCPUHour": "0.1", **spec}}


def explained(name: str, *times: int) -> dict[str, Any]:
    decisions = [
        {
            "time": f"2026-05-01T10:00:{each:02}Z",
            "outcome": {"verdict": "Success"},
            "replicas": each,
        }
        for each in times
    ]
    return {**WHY.named(name), "decisions": decisions}


def test_a_price_is_of_the_cluster_of_its_name_unless_it_says_otherwise(plane: Asking, name: str):
    made = plane.done("POST", PRICE.path(), priced(name))
    assert made["spec"]["cluster"] == name
    other = plane.done("POST", PRICE.path(), priced(f"{name}-2", cluster="m7"))
    assert other["spec"]["cluster"] == "m7"


@pytest.mark.parametrize(
    ("spec", "field", "said"),
    [
        pytest.param({"currency": "Euro"}, "spec.currency", "such as EUR", id="currency"),
        pytest.param({"perCPUHour": "cheap"}, "spec.perCPUHour", "a decimal number", id="word"),
        pytest.param({"perCPUHour": "-1"}, "spec.perCPUHour", "not negative", id="negative"),
        pytest.param({"perGiBHour": "0.0000000001"}, "spec.perGiBHour", "nine places", id="small"),
        pytest.param(
            {"perResourceHour": {"memory": "1"}},
            "spec.perResourceHour[memory]",
            "given as perGiBHour",
            id="memory",
        ),
        pytest.param(
            {"validFrom": "2026-05-02T00:00:00Z", "validUntil": "2026-05-01T00:00:00Z"},
            "spec.validUntil",
            "later than validFrom, 2026-05-02T00:00:00Z",
            id="backwards",
        ),
        pytest.param({"perCPUHour": None}, "spec", "at least one price", id="no-price"),
        pytest.param({"currency": None}, "spec.currency", "Required", id="no-currency"),
        pytest.param({"validFrom": "May"}, "spec.validFrom", "date-time", id="no-time"),
    ],
)
def test_a_price_is_refused_with_its_field_and_what_is_allowed(
    plane: Asking, name: str, spec: dict[str, Any], field: str, said: str
):
    refusal = plane.refused("POST", PRICE.path(), priced(name, **spec), 422)
    causes = {each["field"]: each["message"] for each in refusal["details"]["causes"]}
    assert said in causes[field]


def test_prices_and_explanations_are_printed_for_people(plane: Asking, name: str):
    spec = {"perGiBHour": "0.004", "validUntil": "2027-01-01T00:00:00Z"}
    plane.done("POST", PRICE.path(), priced(name, **spec))
    (row,) = plane.done("GET", PRICE.path(name), accept=TABLE)["rows"]
    assert row["cells"][:5] == [name, name, "0.1", "0.004", "EUR"]
    assert row["cells"][6] == "2027-01-01T00:00:00Z"
    plane.done("POST", WHY.path(), WHY.named(name))
    (row,) = plane.done("GET", WHY.path(name), accept=TABLE)["rows"]
    assert row["cells"][:3] == [name, "2 replicas in 1 cluster: a 2", "replicasChanged"]


def test_an_explanation_is_stored_small_and_shown_whole(plane: Asking, name: str):
    times = [*range(10, 0, -1)]
    plane.done("POST", WHY.path(), explained(name, *times))
    shown = plane.done("GET", WHY.path(name))
    assert [each["replicas"] for each in shown["decisions"]] == times
    assert "earlier" not in shown
    (listed,) = (
        each for each in plane.done("GET", WHY.path())["items"] if each["metadata"]["name"] == name
    )
    assert listed == shown
    assert plane.done("PUT", WHY.path(name), shown) == shown  # nothing changed


def test_more_than_ten_decisions_are_not_kept(plane: Asking, name: str):
    plane.done("POST", WHY.path(), explained(name, *range(30, 0, -1)))
    shown = plane.done("GET", WHY.path(name))
    assert [each["replicas"] for each in shown["decisions"]] == [*range(30, 20, -1)]


def test_junk_in_the_stored_form_is_refused(plane: Asking, name: str):
    refusal = plane.refused("POST", WHY.path(), {**WHY.named(name), "earlier": "junk"}, 422)
    assert "leave it out" in refusal["message"]


def test_every_field_is_explained(plane: Asking):
    document = plane.done("GET", "/openapi/v3/apis/placement.atoll.io/v1alpha1")
    schemas = document["components"]["schemas"]
    price = schemas["io.atoll.placement.v1alpha1.ClusterPrice"]
    assert price["description"].startswith("What a cluster costs")
    for key, each in price["properties"]["spec"]["properties"].items():
        assert each["description"], key
    why = schemas["io.atoll.placement.v1alpha1.Explanation"]["properties"]
    told = why["decisions"]["items"]["properties"]
    assert told["sentences"]["description"].startswith("The whole explanation for people")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        pytest.param("price", "cpu=cheap", "the price of cpu must be a decimal number", id="price"),
        pytest.param("price", "cpu=1, currency=euro", "such as EUR", id="currency"),
        pytest.param("properties", "fast", "must be written key=value", id="properties"),
        pytest.param("scores", "latency=high", "must be a whole number", id="scores"),
    ],
)
def test_an_annotation_of_ours_that_cannot_be_read_is_refused(
    plane: Asking, name: str, key: str, value: str, said: str
):
    cluster = BY_KIND["Cluster"]
    written = cluster.named(name)
    written["metadata"]["annotations"] = {f"atoll.io/{key}": value}
    refusal = plane.refused("POST", cluster.path(), written, 422)
    (cause,) = refusal["details"]["causes"]
    assert cause["field"] == f"metadata.annotations[atoll.io/{key}]"
    assert said in cause["message"]


NODES = "/apis/placement.atoll.io/v1alpha1/clusternodes"


def published(name: str, columns: Columns) -> dict[str, Any]:
    of = {"apiVersion": "v1", "kind": "Cluster", "metadata": {"name": name, "uid": "u"}}
    return nodes_of(of, columns, 1, "2026-01-01T00:00:00Z")


def test_published_nodes_are_printed_for_people_and_junk_is_refused(plane: Asking, name: str):
    columns = encode(NodeTable.of([Node(name="n1", slots=3)]))
    plane.done("POST", NODES, published(name, columns))
    (row,) = plane.done("GET", f"{NODES}/{name}", accept=TABLE)["rows"]
    assert row["cells"][:2] == [name, 1]
    junk = published(f"{name}-2", columns._replace(room="junk"))
    refusal = plane.refused("POST", NODES, junk, 422)
    assert refusal["details"]["causes"][0]["field"] == "spec.room"


def test_an_agent_publishes_the_nodes_of_its_own_cluster_only(plane: Asking, name: str):
    agent = plane.by(f"system:karmada:agent:{name}", MASTERS, "system:karmada:agents")
    columns = encode(NodeTable.of([Node(name="n1", slots=3)]))
    agent.done("POST", NODES, published(name, columns))
    refusal = agent.refused("POST", NODES, published(f"{name}-2", columns), 403)
    assert "its own cluster only" in refusal["message"]
