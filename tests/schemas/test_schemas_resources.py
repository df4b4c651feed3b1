"""What a definition makes the server serve: versions, strategies, columns, defaults on read."""

import copy
from typing import Any

import pytest
from schemas_definitions import OBJECT, PRESERVE, RULES, STRING, make_definition, objects, root_of
from schemas_gadgets import CRD, make_gadget

from atoll.apiserver.custom import resources_of
from atoll.apiserver.resource import Resource, Scale, unconverted
from atoll.apiserver.schemas.definitions import (
    definition_update_errors,
    definition_warnings,
)

Json = dict[str, Any]

_V1 = root_of(objects(color={**STRING, "default": "red"}, old=STRING))
_V2 = root_of(objects(color={**STRING, "default": "blue"}))


def make_versions(**second: Any) -> Json:
    """A definition that stores v1 and also serves v2, which has dropped a field."""
    definition = make_definition(_V1)
    definition["spec"]["names"] |= {"shortNames": ["qq"], "categories": ["all"]}
    v2 = {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": _V2}}
    definition["spec"]["versions"].append({**v2, **second})
    return definition


def make_object(version: str, **spec: Any) -> Json:
    return {"apiVersion": f"q.io/{version}", "kind": "Q", "metadata": {"name": "a"}, "spec": spec}


def test_every_served_version_is_a_resource_in_one_collection() -> None:
    v1, v2 = resources_of(make_versions())
    assert [one.api_version for one in (v1, v2)] == ["q.io/v1", "q.io/v2"]
    assert {one.collection for one in (v1, v2)} == {"qs.q.io"}
    assert {one.stored_version for one in (v1, v2)} == {"v1"}
    assert v1.custom
    assert v1.namespaced
    assert (v1.singular, v1.list_kind, v1.short_names, v1.categories) == (
        "q",
        "QList",
        ("qq",),
        ("all",),
    )


def test_a_version_that_is_not_served_is_no_resource() -> None:
    assert [one.version for one in resources_of(make_versions(served=False))] == ["v1"]


def test_an_object_is_stored_in_the_storage_version() -> None:
    _, v2 = resources_of(make_versions())
    assert v2.to_stored(make_object("v2", color="green")) == make_object("v1", color="green")


def test_a_stored_object_is_shown_in_the_version_asked_for() -> None:
    v1, v2 = resources_of(make_versions())
    stored = make_object("v1", old="x")
    before = copy.deepcopy(stored)
    assert v1.from_stored(stored) == make_object("v1", old="x", color="red")
    assert v2.from_stored(stored) == make_object("v2", color="blue")
    assert stored == before


def test_a_kind_without_defaults_costs_nothing_to_read() -> None:
    (only,) = resources_of(make_definition(root_of(objects(a=STRING))))
    assert only.from_stored is unconverted
    assert only.to_stored is unconverted


def gadgets() -> Resource:
    return resources_of(CRD)[0]


def test_a_custom_resource_is_written_as_kubernetes_writes_it() -> None:
    strategy = gadgets().strategy
    assert strategy.tracks_generation
    assert strategy.has_status
    assert not strategy.unconditional_update
    assert strategy.scale == Scale(("spec", "size"), ("status", "replicas"))


def test_defaults_are_filled_into_the_object_itself_but_not_into_what_it_shares() -> None:
    spec: Json = {"req": "r", "defo": {}}
    obj = make_gadget(spec)
    gadgets().strategy.default(obj)
    assert obj["spec"]["defo"] == {"x": 3}
    assert spec == {"req": "r", "defo": {}}


def test_an_object_of_another_kind_is_refused_before_anything_else() -> None:
    obj = {**make_gadget({}), "kind": "Foo", "apiVersion": "rec.example.io/v9"}
    assert [str(error) for error in gadgets().strategy.errors(obj)] == [
        'kind: Invalid value: "Foo": must be Gadget',
        'apiVersion: Invalid value: "rec.example.io/v9": must be rec.example.io/v1',
    ]


def test_selectable_fields_are_offered_by_their_paths() -> None:
    definition = make_definition()
    definition["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": ".spec.a"}]
    assert resources_of(definition)[0].strategy.selectable == {"spec.a": ("spec", "a")}


_WITH_RULE = root_of({**objects(a=STRING), RULES: [{"rule": "self.a != 'b'"}], "required": ["a"]})


def test_an_object_too_wrong_for_its_rules_says_that_they_were_not_checked() -> None:
    (resource,) = resources_of(make_definition(_WITH_RULE))
    assert [str(error) for error in resource.strategy.errors(make_object("v1"))] == [
        "spec.a: Required value",
        "<nil>: Invalid value: null: some validation rules were not checked because the object was"
        " invalid; correct the existing errors to complete validation",
    ]


def test_formats_that_are_not_checked_are_announced() -> None:
    schema = root_of(objects(a={**STRING, "format": "foo"}, b={**STRING, "format": "date"}))
    assert definition_warnings(make_definition(schema)) == ['unrecognized format "foo"']


def test_a_webhook_that_converts_is_known_by_every_version() -> None:
    hook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://a.b/c"}}
    definition = make_definition(conversion={"strategy": "Webhook", "webhook": hook})
    assert [resource.conversion for resource in resources_of(definition)] == [hook]
    assert not any(resource.serves_as_stored for resource in resources_of(definition))


@pytest.mark.parametrize(
    ("established", "changes", "fields"),
    [
        pytest.param("False", {"scope": "Cluster"}, [], id="scope-before-it-is-served"),
        pytest.param("True", {"scope": "Cluster"}, ["spec.scope"], id="scope-once-it-is-served"),
        pytest.param("False", {"group": "z.io"}, ["spec.group"], id="group-never"),
        pytest.param("True", {"versions": []}, [], id="versions"),
    ],
)
def test_names_that_objects_are_stored_under_may_not_change(
    established: str, changes: Json, fields: list[str]
) -> None:
    status = {"conditions": [{"type": "Established", "status": established}]}
    old = {**make_definition(), "status": status}
    new = {**old, "spec": {**old["spec"], **changes}}
    assert [error.field for error in definition_update_errors(new, old)] == fields


_ANY = {
    "n": None,
    "l": [1, "two", 3],
    "f": 1.5,
    "t": True,
    "big": 12345678901234,
    "s": "str",
    "m": {"k": "v", "b": 1},
    "z": {"deep": "D"},
    "empty": "",
    "c": [
        {"type": "Other", "status": "False", "n": 2},
        {"type": "Ready", "status": "True", "n": 1},
    ],
}


@pytest.mark.parametrize(
    ("path", "kind", "cell"),
    [
        # All of these are what a real kube-apiserver showed.
        pytest.param(".spec.any.m", "string", '{"b":1,"k":"v"}', id="object"),
        pytest.param(".spec.any.n", "string", "<no value>", id="null"),
        pytest.param(".spec.any.n", "integer", None, id="null-number"),
        pytest.param(".spec.any.l", "string", '[1,"two",3]', id="list"),
        pytest.param(".spec.any.l[0]", "string", "1", id="index"),
        pytest.param(".spec.any.l[-1]", "integer", 3, id="index-from-the-end"),
        pytest.param(".spec.any.l[*]", "string", "1", id="first-of-all"),
        pytest.param(".spec.any.l[0:2]", "string", "1", id="first-of-a-slice"),
        pytest.param(".spec.any.l[9]", "string", None, id="no-such-index"),
        pytest.param('.spec.any.c[?(@.type=="Ready")].status', "string", "True", id="filter"),
        pytest.param('.spec.any.c[?(@.type!="Ready")].status', "string", "False", id="unequal"),
        pytest.param(".spec.any.c[?(@.n>1)].type", "string", "Other", id="greater"),
        pytest.param(".spec.any.c[?(@.zz)].type", "string", None, id="exists"),
        pytest.param(r".metadata.annotations['a\.b/c']", "string", "anno", id="quoted"),
        pytest.param(r".metadata.annotations.a\.b/c", "string", "anno", id="escaped"),
        pytest.param(".spec.any['m']['k']", "string", "v", id="brackets"),
        pytest.param(".spec.any..deep", "string", "D", id="descendant"),
        pytest.param(".spec.any.f", "string", "1.5", id="float-as-text"),
        pytest.param(".spec.any.t", "string", "true", id="boolean-as-text"),
        pytest.param(".spec.any.t", "boolean", True, id="boolean"),
        pytest.param(".spec.any.big", "string", "12345678901234", id="large"),
        pytest.param(".spec.any.empty", "string", "", id="empty"),
    ],
)
def test_a_column_shows_what_its_path_finds(path: str, kind: str, cell: Any) -> None:
    definition = make_definition({**OBJECT, PRESERVE: True})
    declared = [{"name": "x", "type": kind, "jsonPath": path}]
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = declared
    (column,) = resources_of(definition)[0].columns
    annotated = {"annotations": {"a.b/c": "anno"}}
    assert column.cell({"metadata": annotated, "spec": {"any": _ANY}}) == cell


def test_columns_end_where_a_path_cannot_be_understood() -> None:
    definition = make_definition()
    paths = (".spec.a", ".spec[", ".spec.b")
    declared = [{"name": path, "type": "string", "jsonPath": path} for path in paths]
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = declared
    (column,) = resources_of(definition)[0].columns
    assert column.name == ".spec.a"
    assert column.description == "Custom resource definition column (in JSONPath format): .spec.a"
