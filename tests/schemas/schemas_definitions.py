"""Definitions that are sent to the real kube-apiserver and to our own code, most of them wrong."""

import copy
from typing import Any

Json = dict[str, Any]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
EITHER = "x-kubernetes-int-or-string"
LIST_TYPE, LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
MAP_TYPE, RULES = "x-kubernetes-map-type", "x-kubernetes-validations"
STRING: Json = {"type": "string"}
OBJECT: Json = {"type": "object"}
STRINGS: Json = {"type": "array", "items": STRING}


def make_definition(schema: Json | None = None, **spec: Any) -> Json:
    root = schema or root_of({"type": "object", "properties": {"a": STRING}})
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    names = {"plural": "qs", "kind": "Q"}
    whole = {"group": "q.io", "scope": "Namespaced", "names": names, "versions": [version], **spec}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "qs.q.io"},
        "spec": whole,
    }


def root_of(spec: Json) -> Json:
    return {"type": "object", "properties": {"spec": spec}}


def field(schema: Json) -> Json:
    """A definition whose spec.a has this schema."""
    return make_definition(root_of({"type": "object", "properties": {"a": schema}}))


def objects(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


def version(definition: Json | None = None, **fields: Any) -> Json:
    changed = copy.deepcopy(definition or make_definition())
    changed["spec"]["versions"][0].update(fields)
    return changed


def two_versions(second: Json, definition: Json | None = None) -> Json:
    changed = copy.deepcopy(definition or make_definition())
    base = {"name": "v2", "served": True, "storage": False}
    changed["spec"]["versions"].append({**base, **second})
    return changed


def names(**changes: Any) -> Json:
    changed = make_definition()
    changed["spec"]["names"].update(changes)
    return changed


def named(name: str, definition: Json | None = None, **annotations: str) -> Json:
    changed = copy.deepcopy(definition or make_definition())
    changed["metadata"] = {"name": name, "annotations": annotations}
    return changed


def column(**fields: Any) -> Json:
    return version(additionalPrinterColumns=[fields])


def scale(**paths: str) -> Json:
    return version(subresources={"scale": paths})


def map_list(keys: list[str], **items: Any) -> Json:
    whole = {"type": "object", **items}
    return field({"type": "array", "items": whole, LIST_TYPE: "map", LIST_KEYS: keys})


_SCHEMA = {"schema": {"openAPIV3Schema": OBJECT}}
_HOOK = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://a.b/c"}}

NAMES = {
    "fine": make_definition(),
    "name differs": named("y"),
    "no group": make_definition(group=""),
    "bad group": make_definition(group="Q_"),
    "group without dot": make_definition(group="q"),
    "unknown scope": make_definition(scope="Foo"),
    "no scope": make_definition(scope=""),
    "no plural": names(plural=""),
    "no kind": names(kind=""),
    "bad kind": names(kind="Q_q"),
    "bad plural": names(plural="Qs"),
    "bad short name": names(shortNames=["A"]),
    "bad category": names(categories=["A_"]),
    "list kind is kind": names(listKind="Q"),
    "bad singular": names(singular="Q"),
    "protected group": named("qs.foo.k8s.io", make_definition(group="foo.k8s.io")),
    "protected group wrongly approved": named(
        "qs.foo.k8s.io", make_definition(group="foo.k8s.io"), **{"api-approved.kubernetes.io": "zz"}
    ),
}
VERSIONS = {
    "no versions": make_definition(versions=[]),
    "bad version": version(name="V1"),
    "no schema": version(schema=None),
    "empty schema": version(schema={}),
    "second version without schema": two_versions({}),
    "second version wrong": two_versions({"schema": {"openAPIV3Schema": objects(x={})}}),
    "both versions wrong alike": two_versions(
        {"schema": {"openAPIV3Schema": root_of({})}}, make_definition(root_of({}))
    ),
    "warning without deprecation": version(deprecationWarning="x"),
    "empty warning": version(deprecated=True, deprecationWarning=""),
    "unknown conversion": make_definition(conversion={"strategy": "Foo"}),
    "conversion none with webhook": make_definition(
        conversion={"strategy": "None", "webhook": _HOOK}
    ),
    "preserves everything": make_definition(preserveUnknownFields=True),
}
STRUCTURE = {
    "root without type": make_definition({"properties": {"spec": OBJECT}}),
    "root is a string": make_definition(STRING),
    "spec without type": make_definition(root_of({})),
    "field without type": field({}),
    "items without type": field({"type": "array", "items": {}}),
    "no items": field({"type": "array"}),
    "items is a list": field({"type": "array", "items": [STRING]}),
    "unknown type": field({"type": "foo"}),
    "type null": field({"type": "null"}),
    "additional properties at root": make_definition({**OBJECT, "additionalProperties": STRING}),
    "properties and additional": field({**objects(a=STRING), "additionalProperties": STRING}),
    "unique items": field({**STRINGS, "uniqueItems": True}),
    "not unique items": field({**STRINGS, "uniqueItems": False}),
    "id": field({**STRING, "id": "x"}),
    "ref": field({"$ref": "#/a"}),
    "pattern properties": field({**OBJECT, "patternProperties": {"a": STRING}}),
    "definitions": field({**OBJECT, "definitions": {"a": STRING}}),
    "dependencies": field({**OBJECT, "dependencies": {"a": ["b"]}}),
    "additional items": field({**STRINGS, "additionalItems": False}),
    "bad pattern": field({**STRING, "pattern": "("}),
    "lookahead in pattern": field({**STRING, "pattern": "(?=a)"}),
    "type in anyOf": field({**OBJECT, "anyOf": [OBJECT]}),
    "unknown property in anyOf": field(
        {**OBJECT, "anyOf": [{"properties": {"z": {"minLength": 1}}}]}
    ),
    "unknown property in anyOf of root": make_definition(
        {**OBJECT, "anyOf": [{"properties": {"z": {"minLength": 1}}}]}
    ),
    "shape in not": field(
        {**STRING, "not": {"description": "x", "nullable": True, "default": "a", "title": "t"}}
    ),
    "metadata in allOf": make_definition(
        {**objects(metadata=OBJECT), "allOf": [{"properties": {"metadata": {"minProperties": 1}}}]}
    ),
    "int or string": field({EITHER: True, "anyOf": [{"type": "integer"}, STRING]}),
    "int or string in allOf": field(
        {EITHER: True, "allOf": [{"anyOf": [{"type": "integer"}, STRING]}, {"pattern": "a"}]}
    ),
    "int or string with one type": field({EITHER: True, "anyOf": [{"type": "integer"}]}),
    "int or string that preserves": field({EITHER: True, PRESERVE: True, EMBEDDED: True}),
    "int or string with type": field({EITHER: True, **STRING}),
    "preserves false": field({**OBJECT, PRESERVE: False}),
    "embedded without type": field({EMBEDDED: True}),
    "embedded without properties": field({**OBJECT, EMBEDDED: True}),
    "embedded string": field({**STRING, EMBEDDED: True, PRESERVE: True}),
    "embedded with wrong metadata": field(
        {
            **objects(kind={"type": "integer"}, apiVersion={"type": "integer"}, metadata=STRING),
            EMBEDDED: True,
        }
    ),
    "embedded map": field({**OBJECT, EMBEDDED: True, "additionalProperties": STRING}),
    "labels in metadata": make_definition(objects(metadata=objects(labels=OBJECT))),
    "name in metadata": make_definition(objects(metadata=objects(name={**STRING, "maxLength": 3}))),
    "description of metadata": make_definition(objects(metadata={**OBJECT, "description": "x"})),
    "metadata of other types": make_definition(
        objects(metadata=STRING, kind={"type": "integer"}, apiVersion={"type": "integer"})
    ),
    "defaults in metadata": make_definition(
        objects(metadata={**OBJECT, "default": {}}, kind={**STRING, "default": "a"})
    ),
    "nullable root": make_definition({**OBJECT, "nullable": True}),
    "type is a number": field({"type": "array", "items": {"type": 5}}),
    "unknown keyword in a map": field({**OBJECT, "additionalProperties": {**STRING, "zzz": 1}}),
    "unknown format": field({**STRING, "format": "foo"}),
}
LISTS = {
    "unknown list type": field({**STRINGS, LIST_TYPE: "foo"}),
    "set of objects": field({"type": "array", "items": OBJECT, LIST_TYPE: "set"}),
    "set of sets": field(
        {"type": "array", "items": {**STRINGS, LIST_TYPE: "set"}, LIST_TYPE: "set"}
    ),
    "map of strings": field({**STRINGS, LIST_TYPE: "map"}),
    "keys that are no fields": map_list(["a", "b"], properties={"a": STRING}, required=["a"]),
    "repeated keys": map_list(["a", "a"], properties={"a": STRING}, required=["a"]),
    "optional key": map_list(["a"], properties={"a": STRING}),
    "key is an object": map_list(["a"], properties={"a": OBJECT}, required=["a"]),
    "nullable key": map_list(
        ["a"], nullable=True, properties={"a": {**STRING, "nullable": True}}, required=["a"]
    ),
    "list type of a string": field({**STRING, LIST_TYPE: "set", MAP_TYPE: "foo"}),
    "keys without list type": field({**STRINGS, LIST_KEYS: ["a"]}),
    "list type without type": field({PRESERVE: True, LIST_TYPE: "set", MAP_TYPE: "atomic"}),
    "keys of a set": field({**STRINGS, LIST_TYPE: "set", LIST_KEYS: ["a"]}),
}
DEFAULTS = {
    "default of another type": field({**STRING, "default": 1}),
    "default with wrong and unknown fields": make_definition(
        root_of({**objects(a=STRING), "default": {"a": 1, "z": 2}})
    ),
    "default with unknown fields": make_definition(
        root_of({**objects(a=STRING), "default": {"b": 1}})
    ),
    "wrong default of items": field({"type": "array", "items": {**STRING, "default": 2}}),
    "wrong default of a map": field({**OBJECT, "additionalProperties": {**STRING, "default": 1}}),
    "default not in enum": field({**STRING, "enum": ["a"], "default": "b"}),
    "default of an embedded object": field(
        {**OBJECT, EMBEDDED: True, PRESERVE: True, "default": {"kind": "A"}}
    ),
}
PARTS = {
    "scale without paths": scale(),
    "scale with odd paths": scale(
        specReplicasPath="spec.r", statusReplicasPath=".spec.r", labelSelectorPath=".foo"
    ),
    "scale with swapped paths": scale(specReplicasPath=".status.r", statusReplicasPath="x"),
    "empty column": column(name="", type="", jsonPath=""),
    "odd column": column(name="a", type="foo", format="bar", jsonPath="spec"),
    "column with a path that cannot be read": column(name="a", type="string", jsonPath=".spec["),
    "selectable fields": version(
        selectableFields=[
            {"jsonPath": path}
            for path in (
                *(".spec.zz", "", ".metadata.name", ".spec", ".spec.a", ".spec.a", "spec"),
                *(".spec[0]", "."),
            )
        ]
    ),
    "rules": field(
        {
            **STRING,
            RULES: [
                {"rule": ""},
                {"rule": "self==self", "message": "a\nb"},
                {"rule": "a\nb"},
                {"rule": "self==self", "reason": "Foo"},
            ],
        }
    ),
}
DEFINITIONS: dict[str, Json] = {**NAMES, **VERSIONS, **STRUCTURE, **LISTS, **DEFAULTS, **PARTS}
