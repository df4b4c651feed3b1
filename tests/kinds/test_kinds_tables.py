"""Our tables have the columns and the cells of a real kube-apiserver's."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from kinds_recorded import builtins, documents, recorded, resource_at, with_definitions

from atoll.apiserver.kinds.columns.cells import human, since
from atoll.apiserver.tables import partial_list, table

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PATHS = sorted({sample["resource"] for sample in documents("samples")})


def our_table(path):
    real = recorded("tables")[path]
    now = datetime.fromisoformat(real["now"])
    return table(resource_at(path), real["list"]["items"], now), real["table"]


@pytest.mark.parametrize("path", PATHS)
def test_the_cells_are_those_of_kubernetes(path):
    ours, real = our_table(path)
    # Of addresses Kubernetes gives a third cell, for which there is no column.
    shown = len(real["columnDefinitions"])
    cells = [row["cells"][:shown] for row in real["rows"]]
    assert [row["cells"] for row in ours["rows"]] == cells


@pytest.mark.parametrize("path", PATHS)
def test_the_columns_are_those_of_kubernetes(path):
    ours, real = our_table(path)
    for column in ours["columnDefinitions"]:
        del column["description"]
    assert ours["columnDefinitions"] == real["columnDefinitions"]


def test_custom_columns_show_what_is_of_their_type():
    real = recorded("custom")
    widgets = resource_at("/apis/ex.io/v1/widgets", with_definitions())
    now = datetime.fromisoformat(real["now"])
    ours = table(widgets, real["list"]["items"], now)
    cells = [row["cells"] for row in real["table"]["rows"]]
    assert [row["cells"] for row in ours["rows"]] == cells
    names = [column["name"] for column in real["table"]["columnDefinitions"]]
    assert [column["name"] for column in ours["columnDefinitions"]] == names


def test_a_custom_kind_without_columns_shows_its_age():
    real = recorded("custom")
    widgets = resource_at("/apis/ex.io/v1beta1/widgets", with_definitions())
    now = datetime.fromisoformat(real["now"])
    ours = table(widgets, real["list"]["items"], now)
    columns = [(c["name"], c["type"]) for c in ours["columnDefinitions"]]
    assert columns == [("Name", "string"), ("Age", "date")]
    assert [row["cells"] for row in ours["rows"]] == [r["cells"] for r in real["bare"]["rows"]]


@pytest.mark.parametrize(
    ("include", "shown"),
    [
        pytest.param("None", None, id="nothing"),
        pytest.param("Object", {"metadata": {"name": "a", "resourceVersion": "7"}}, id="all"),
        pytest.param(
            "Metadata",
            {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1beta1",
                "metadata": {"name": "a", "resourceVersion": "7"},
            },
            id="metadata",
        ),
    ],
)
def test_a_row_carries_as_much_of_its_object_as_is_asked_for(include, shown):
    obj = {"metadata": {"name": "a", "resourceVersion": "7"}}
    made = table(resource_at("/api/v1/configmaps"), [obj], NOW, include, "v1beta1")
    assert made["rows"][0]["object"] == shown
    assert made["apiVersion"] == "meta.k8s.io/v1beta1"
    assert made["metadata"] == {"resourceVersion": "7"}


def test_a_list_can_be_cut_down_to_metadata():
    made = partial_list([{"metadata": {"name": "a"}, "data": {"b": "c"}}])
    assert made["kind"] == "PartialObjectMetadataList"
    assert [item["metadata"] for item in made["items"]] == [{"name": "a"}]
    assert "data" not in made["items"][0]


def test_every_kind_can_print_an_object_that_has_nothing():
    for resource in builtins():
        made = table(resource, [{}], NOW)
        assert len(made["rows"][0]["cells"]) == len(made["columnDefinitions"])
        json.dumps(made)


@pytest.mark.parametrize(
    ("length", "shown"),
    [
        pytest.param(timedelta(seconds=-5), "<invalid>", id="future"),
        pytest.param(timedelta(seconds=-1), "0s", id="just now"),
        pytest.param(timedelta(seconds=0), "0s", id="now"),
        pytest.param(timedelta(seconds=119), "119s", id="seconds"),
        pytest.param(timedelta(seconds=120), "2m", id="whole minutes"),
        pytest.param(timedelta(seconds=200), "3m20s", id="minutes and seconds"),
        pytest.param(timedelta(minutes=10, seconds=5), "10m", id="minutes"),
        pytest.param(timedelta(minutes=179), "179m", id="up to three hours"),
        pytest.param(timedelta(hours=3), "3h", id="whole hours"),
        pytest.param(timedelta(hours=7, minutes=59), "7h59m", id="hours and minutes"),
        pytest.param(timedelta(hours=8, minutes=1), "8h", id="hours"),
        pytest.param(timedelta(hours=47), "47h", id="up to two days"),
        pytest.param(timedelta(days=2, hours=3), "2d3h", id="days and hours"),
        pytest.param(timedelta(days=8, hours=3), "8d", id="days"),
        pytest.param(timedelta(days=729), "729d", id="up to two years"),
        pytest.param(timedelta(days=800), "2y70d", id="years and days"),
        pytest.param(timedelta(days=365 * 9), "9y", id="years"),
    ],
)
def test_ages_are_written_as_kubectl_writes_them(length, shown):
    assert human(length.total_seconds()) == shown


def test_an_age_that_cannot_be_known_says_so():
    assert since(None) == "<unknown>"
    assert since("yesterday") == "<unknown>"
