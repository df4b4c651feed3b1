"""Custom objects: defaults, pruning, validation, subresources, columns and selectors."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from backends import Backend
from manifests import definition

from atoll.wire import Wire

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "widgets.example.com"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 1000},
        "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "name": {"type": "string", "maxLength": 5, "pattern": "^[a-z]*$"},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "ports": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["port"],
                "properties": {
                    "port": {"type": "integer"},
                    "protocol": {"type": "string", "default": "TCP"},
                },
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
        },
        "limit": {"x-kubernetes-int-or-string": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "when": {"type": "string", "format": "date-time"},
        "ratio": {"type": "number"},
        "replicas": {"type": "integer", "format": "int32"},
    },
}


@pytest.fixture(scope="module")
def widgets_root(api: Backend) -> Iterator[str]:
    made = definition(
        "Widget",
        GROUP,
        SPEC,
        subresources={
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        additionalPrinterColumns=[
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        selectableFields=[{"jsonPath": ".spec.color"}],
    )
    api.create(CRDS, made)
    root = f"/apis/{GROUP}/v1"
    deadline = time.monotonic() + 120
    while api.request("GET", f"{root}/widgets").status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield root
    api.delete(f"{CRDS}/widgets.{GROUP}")


@pytest.fixture
def widgets(widgets_root: str, namespace: str) -> str:
    return f"{widgets_root}/namespaces/{namespace}/widgets"


def widget(name: str, /, **spec: Any) -> Wire:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"size": 1, **spec},
    }


def test_defaults_are_filled_in(api: Backend, widgets: str) -> None:
    made = api.create(widgets, widget("a", ports=[{"port": 80}]))
    assert made["spec"] == {
        "size": 1,
        "color": "red",
        "ports": [{"port": 80, "protocol": "TCP"}],
    }
    assert made["metadata"]["generation"] == 1


def test_items_of_custom_kinds_say_their_kind(api: Backend, widgets: str) -> None:
    made = api.create(widgets, widget("a"))
    listed = api.read(widgets)
    assert (listed["kind"], listed["items"]) == ("WidgetList", [made])


def test_unknown_fields_are_pruned_with_a_warning(api: Backend, widgets: str) -> None:
    sent = widget("a", foo=1, free={"anything": {"goes": None}})
    sent["metadata"]["labelz"] = {}
    answer = api.request("POST", widgets, body=sent)
    made = answer.object(201)
    assert "foo" not in made["spec"]
    assert "labelz" not in made["metadata"]
    assert made["spec"]["free"] == {"anything": {"goes": None}}
    assert r"unknown field \"spec.foo\"" in answer.warnings
    answer = api.request("POST", f"{widgets}?fieldValidation=Strict", body=widget("b", foo=1))
    answer.refusal(
        400,
        "BadRequest",
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
        'unknown field "spec.foo"',
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"size": 5000}, "spec.size: Invalid value: 5000: spec.size in body should be less than or "
         "equal to 1000"),
        ({"size": 0}, "spec.size: Invalid value: 0: spec.size in body should be greater than or "
         "equal to 1"),
        ({"size": "x"}, 'spec.size: Invalid value: "string": spec.size in body must be of type '
         'integer: "string"'),
        ({"size": None}, "spec.size: Required value"),
        ({"color": "green"}, 'spec.color: Unsupported value: "green": supported values: "red", '
         '"blue"'),
        ({"name": "toolong"}, "spec.name: Too long: may not be more than 5 bytes"),
        ({"name": "ABC"}, "spec.name: Invalid value: \"ABC\": spec.name in body should match "
         "'^[a-z]*$'"),
        ({"tags": ["a", "a"]}, 'spec.tags[1]: Duplicate value: "a"'),
        ({"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]},
         'spec.ports[1]: Duplicate value: {"port":1,"protocol":"TCP"}'),
        ({"limit": True}, None),
        ({"when": "yesterday"}, 'spec.when: Invalid value: "yesterday": spec.when in body must be '
         'of type date-time: "yesterday"'),
    ],
    ids=["large", "small", "type", "required", "enum", "long", "pattern", "set", "map",
         "int or string", "format"],
)  # fmt: skip
def test_objects_are_validated_by_their_schema(
    api: Backend, widgets: str, spec: Wire, message: str | None
) -> None:
    answer = api.request("POST", widgets, body=widget("a", **spec))
    details = answer.refusal(422, "Invalid")
    assert (details["group"], details["kind"], details["name"]) == (GROUP, "Widget", "a")
    if message is not None:
        assert (
            answer.json()["message"]
            .removeprefix(f'Widget.{GROUP} "a" is invalid: ')
            .removeprefix("[")
            .startswith(message)
        )


def test_the_kind_must_be_named(api: Backend, widgets: str) -> None:
    answer = api.request("POST", widgets, body={"metadata": {"name": "a"}, "spec": {"size": 1}})
    answer.refusal(400, "BadRequest")
    message = (
        "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing"
    )
    assert answer.json()["message"].startswith(message)


def test_an_update_needs_the_version(api: Backend, widgets: str) -> None:
    api.create(widgets, widget("a"))
    answer = api.request("PUT", f"{widgets}/a", body=widget("a", size=2))
    answer.refusal(
        422,
        "Invalid",
        f'widgets.{GROUP} "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be '
        "specified for an update",
    )


def test_there_is_no_strategic_patch(api: Backend, widgets: str) -> None:
    api.create(widgets, widget("a"))
    answer = api.try_patch(f"{widgets}/a", {"spec": {"size": 2}}, "strategic")
    answer.refusal(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    )
    assert api.patch(f"{widgets}/a", {"spec": {"size": 2}})["spec"]["size"] == 2


def test_status_is_apart(api: Backend, widgets: str) -> None:
    made = api.create(widgets, {**widget("a"), "status": {"x": 1}})
    assert "status" not in made
    changed = api.patch(f"{widgets}/a/status", {"status": {"ok": True}, "spec": {"size": 9}})
    assert (changed["status"], changed["spec"]["size"]) == ({"ok": True}, 1)
    assert changed["metadata"]["generation"] == 1
    changed = api.patch(f"{widgets}/a", {"status": {"ok": False}, "spec": {"size": 2}})
    assert (changed["status"], changed["metadata"]["generation"]) == ({"ok": True}, 2)


def test_scale_reads_and_writes_the_paths_it_was_given(api: Backend, widgets: str) -> None:
    api.create(widgets, widget("a", replicas=3))
    api.patch(f"{widgets}/a/status", {"status": {"replicas": 2, "selector": "a=b"}})
    scale = api.read(f"{widgets}/a/scale")
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale",
        {"replicas": 3},
        {"replicas": 2, "selector": "a=b"},
    )
    api.patch(f"{widgets}/a/scale", {"spec": {"replicas": 5}})
    assert api.read(f"{widgets}/a")["spec"]["replicas"] == 5


def test_a_number_of_replicas_is_not_negative(api: Backend, widgets: str) -> None:
    api.create(widgets, widget("a", replicas=3))
    refused = api.try_patch(f"{widgets}/a/scale", {"spec": {"replicas": -1}})
    why = "Invalid value: -1: should be a non-negative integer"
    [cause] = refused.refusal(422, "Invalid")["causes"]
    assert (cause["field"], cause["message"]) == (".spec.replicas", why)


def test_printer_columns_make_the_table(api: Backend, widgets: str) -> None:
    api.create(widgets, widget("a", size=7))
    table = api.read(widgets, TABLE)
    columns = [(one["name"], one["type"], one["priority"]) for one in table["columnDefinitions"]]
    assert columns == [
        ("Name", "string", 0),
        ("Size", "integer", 0),
        ("Color", "string", 1),
        ("Age", "date", 0),
    ]
    assert table["rows"][0]["cells"][:3] == ["a", 7, "red"]


def test_selectable_fields_select(api: Backend, widgets: str) -> None:
    api.create(widgets, widget("a"))
    api.create(widgets, widget("b", color="blue"))
    (found,) = api.read(f"{widgets}?fieldSelector=spec.color%3Dblue")["items"]
    assert found["metadata"]["name"] == "b"
    answer = api.request("GET", f"{widgets}?fieldSelector=spec.size%3D1")
    answer.refusal(400, "BadRequest", "field label not supported: spec.size")


def test_whole_numbers_stay_whole(api: Backend, widgets: str) -> None:
    body = (
        b'{"apiVersion":"' + GROUP.encode() + b'/v1","kind":"Widget","metadata":{"name":"a"},'
        b'"spec":{"size":1,"ratio":1.0,"free":{"big":9007199254740993,"half":0.5}}}'
    )
    answer = api.request("POST", widgets, body=body)
    assert answer.object(201)["spec"]["free"] == {"big": 9007199254740993, "half": 0.5}
    assert b'"ratio":1,' in answer.body or b'"ratio":1}' in answer.body


def test_applied_lists_merge_by_their_keys(api: Backend, widgets: str) -> None:
    api.apply(f"{widgets}/a", widget("a", ports=[{"port": 80}], tags=["x"]), "m1").object(201)
    both = api.apply(f"{widgets}/a", widget("a", ports=[{"port": 443}], tags=["y"]), "m2").object()
    assert [one["port"] for one in both["spec"]["ports"]] == [80, 443]
    assert both["spec"]["tags"] == ["x", "y"]
    entry = next(one for one in both["metadata"]["managedFields"] if one["manager"] == "m2")
    assert entry["fieldsV1"]["f:spec"] == {
        "f:ports": {'k:{"port":443,"protocol":"TCP"}': {".": {}, "f:port": {}}},
        "f:size": {},
        "f:tags": {'v:"y"': {}},
    }
