"""A custom kind that has something of everything, and specs of it that are right and wrong."""

from typing import Any

from schemas_definitions import (
    EITHER,
    EMBEDDED,
    LIST_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    OBJECT,
    PRESERVE,
    STRING,
    Json,
    objects,
)

NUMBER: Json = {"type": "number"}
INTEGER: Json = {"type": "integer"}
FORMATS = {
    "ip": "ipv4",
    "ip6": "ipv6",
    "cidr": "cidr",
    "dt": "date-time",
    "du": "duration",
    "uri": "uri",
    "uuid": "uuid",
    "by": "byte",
    "em": "email",
    "host": "hostname",
    "mac": "mac",
    "date": "date",
    "isbn": "isbn",
    "cc": "creditcard",
    "ssn": "ssn",
    "hex": "hexcolor",
    "rgb": "rgbcolor",
    "pw": "password",
    "sn": "k8s-short-name",
    "ln": "k8s-long-name",
    "unk": "foo",
    "bson": "bsonobjectid",
}
_PORT = {**objects(name=STRING, proto={**STRING, "default": "TCP"}), "required": ["name"]}
_TWO = objects(a=STRING, b=STRING)
FIELDS: Json = {
    "req": STRING,
    "size": {**INTEGER, "minimum": 1, "maximum": 1000},
    "name": {**STRING, "maxLength": 5, "minLength": 2},
    "color": {**STRING, "enum": ["red", "blue"]},
    "num": {
        **NUMBER,
        "multipleOf": 0.5,
        "minimum": 0,
        "exclusiveMinimum": True,
        "maximum": 10,
        "exclusiveMaximum": True,
    },
    "i32": {**INTEGER, "format": "int32"},
    "i64": {**INTEGER, "format": "int64"},
    "flt": {**NUMBER, "format": "float"},
    "pat": {**STRING, "pattern": "^a+$"},
    "tags": {"type": "array", "items": STRING, LIST_TYPE: "set", "maxItems": 3, "minItems": 1},
    "ports": {"type": "array", "items": _PORT, LIST_TYPE: "map", LIST_KEYS: ["name"]},
    "ios": {EITHER: True},
    "iosp": {EITHER: True, "anyOf": [INTEGER, STRING], "pattern": "^a", "maximum": 5},
    "any": {PRESERVE: True},
    "emb": {**OBJECT, EMBEDDED: True, PRESERVE: True},
    "emb2": {**objects(spec=objects(a={**STRING, "default": "b"})), EMBEDDED: True},
    "map": {**OBJECT, "additionalProperties": INTEGER, "minProperties": 1, "maxProperties": 2},
    "nul": {**STRING, "nullable": True},
    "def": {**STRING, "default": "d"},
    "b": {"type": "boolean"},
    "one": {**_TWO, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "anyo": {**_TWO, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "anyt": {
        **objects(a=STRING, b=INTEGER),
        "anyOf": [
            {"required": ["a"], "properties": {"a": {"minLength": 3}}},
            {"required": ["b"], "properties": {"b": {"minimum": 5}}},
        ],
    },
    "all": {**STRING, "allOf": [{"minLength": 3}, {"pattern": "^x"}]},
    "no": {**STRING, "not": {"enum": ["bad"]}},
    "obj": objects(x=STRING),
    "apt": {**OBJECT, "additionalProperties": True},
    "apf": {**OBJECT, "additionalProperties": False},
    "enumi": {**INTEGER, "enum": [1, 2]},
    "big": {**NUMBER, "maximum": 1000000},
    "big2": {**NUMBER, "minimum": 0.00001, "maximum": 123456789},
    "deep": objects(
        l={
            "type": "array",
            "items": {
                **objects(q=INTEGER, r={"type": "array", "items": {**STRING, "enum": ["x"]}}),
                "required": ["q"],
            },
        }
    ),
    "intmax": {**INTEGER, "maximum": 1.5},
    "mul": {**INTEGER, "multipleOf": 3},
    "mulf": {**NUMBER, "multipleOf": 0.1},
    "nulenum": {**STRING, "nullable": True, "enum": ["a"]},
    "mk": {
        "type": "array",
        LIST_TYPE: "map",
        LIST_KEYS: ["a", "b"],
        "items": {**objects(a=STRING, b={**STRING, "default": "z"}), "required": ["a"]},
    },
    "defo": {
        **objects(x={**INTEGER, "default": 3}, y=objects(z={**STRING, "default": "q"})),
        "default": {},
    },
    "defl": {"type": "array", "items": objects(k={**STRING, "default": "v"}), "default": [{}]},
    "mapd": {**OBJECT, "additionalProperties": objects(k={**STRING, "default": "v"})},
    "setobj": {
        "type": "array",
        LIST_TYPE: "set",
        "items": {**OBJECT, MAP_TYPE: "atomic", PRESERVE: True},
    },
    "pu": {**objects(k=objects(z=STRING)), PRESERVE: True},
    "nn": {**objects(a={**STRING, "nullable": True}, b=STRING), "nullable": True},
    **{name: {**STRING, "format": form} for name, form in FORMATS.items()},
}
SCHEMA: Json = {
    **objects(
        spec={**OBJECT, "required": ["req"], "properties": FIELDS},
        status=objects(ok={"type": "boolean"}, replicas=INTEGER),
    ),
    "required": ["spec"],
}
CRD: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.rec.example.io"},
    "spec": {
        "group": "rec.example.io",
        "scope": "Namespaced",
        "names": {
            "plural": "gadgets",
            "singular": "gadget",
            "kind": "Gadget",
            "listKind": "Gadgets",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.size",
                        "statusReplicasPath": ".status.replicas",
                    },
                },
            }
        ],
    },
}

_EMBEDDED = {"apiVersion": "v1", "kind": "X"}
_VALUES: dict[str, list[Any]] = {
    "size": [5000, "5", 1.5, None, True, {}, [], 10**20, -5, 7],
    "name": ["toolong", "x", 1, "", "é", "ééééé", "éééééé"],
    "color": ["green", "red"],
    "num": [0, 10, 0.3, 11.5, "1", 1.5, 1e300],
    "i32": [3 * 10**9],
    "i64": [10**20],
    "flt": [1e300],
    "pat": ["bbb", "aaa"],
    "tags": [["a", "a", "a"], [], ["a", "b", "c", "d"], [1, None], "a", {"a": 1}],
    "ports": [[{"name": "a"}, {"name": "a"}], [{}], [None], [1], {"a": 1}],
    "ios": [1, "a", 1.5, True, {}],
    "iosp": ["b", 6, "a", 1.5],
    "any": [{"a": {"b": None}, "c": 1.0}, 1.5, "s", None, [None, {"a": None}]],
    "emb": [
        *({}, [], None, 1),
        {**_EMBEDDED, "metadata": {"name": "a", "creationTimestamp": None, "zz": 1}, "q": {"r": 1}},
        {**_EMBEDDED, "metadata": {"name": "a", "creationTimestamp": None}, "spec": {"a": None}},
        {"apiVersion": 1, "kind": "X"},
        {**_EMBEDDED, "metadata": {"labels": 1}},
        {"apiVersion": "v1", "kind": "", "metadata": {"name": "A/b", "labels": {"_": "a"}}},
    ],
    "emb2": [
        {**_EMBEDDED, "spec": {"zz": 1}, "top": 1},
        {"apiVersion": "a/b/c", "kind": "A_"},
        {**_EMBEDDED, "spec": {}},
    ],
    "map": [{}, {"a": 1, "b": 2, "c": 3}, {"a": "x"}, {"a": None}],
    "nul": [None],
    "def": [None, "x"],
    "b": ["true", None],
    "one": [{}, {"a": "1", "b": "2"}, {"a": "1"}],
    "anyo": [{}],
    "anyt": [{}, {"a": "x"}, {"b": 1}, {"a": "x", "b": 1}, {"b": 6}],
    "all": ["a", "abcd", "x", "xyz"],
    "no": ["bad", "good"],
    "obj": [{"x": "1", "y": 2, "z": {"a": 1}}, [{"x": 1}], "s", {"x": {"y": 1}}],
    "apt": [{"a": {"b": 1}, "c": [{"d": 1}], "e": 1}],
    "apf": [{"a": 1}, {}],
    "enumi": [3, 1.0, 2],
    "big": [2000000.5, 2000000],
    "big2": [1e-7, 123456790.5],
    "deep": [{"l": [{"q": "a", "r": ["y", 1]}, {"r": [None]}, None, 3]}],
    "intmax": [1, 5],
    "mul": [4, 6],
    "mulf": [0.35, 0.3, 3],
    "nulenum": [None, "b"],
    "mk": [[{"a": "1"}, {"a": "1"}], [{"a": "1"}, {"a": "1", "b": "y"}], [{}, {}]],
    "defo": [{"y": {}}, None],
    "defl": [[{}, {"k": None}, None]],
    "mapd": [{"a": {}, "b": None}],
    "setobj": [[{"a": 1}, {"a": 1}, {"b": [1]}, {"a": 1}]],
    "pu": [{"x": {"y": None}, "k": {"z": "1", "y": 2}}, [1, {"a": 1}]],
    "nn": [None, {"a": None, "b": None}, 5],
    "zzz": [1],
    "ip": ["1.2.3.4", "1.2.3", "01.2.3.4", "::1", "1.2.3.256", 1, True, {}],
    "ip6": ["::1", "1.2.3.4", "::ffff:1.2.3.4", "fe80::1%eth0", "zz"],
    "cidr": ["1.2.3.4/24", "1.2.3.4", "1.2.3.4/33", "::/0"],
    "dt": [
        *("zz", "2020-01-01T00:00:00Z", "2020-01-01t00:00:00z", "2020-01-01T00:00:60Z", [], 5, 1.5),
        *(
            "2020-01-01T00:00:00",
            "2020-01-01T00:00:00.5+01:00",
            "2020-01-01T24:00:00Z",
            ["x"],
            None,
        ),
    ],
    "du": ["1s", "1h30m", "1 day", "3 weeks", "2d", "1.5h", "-1s", "", "0", "1 foo", "1x", "5sec"],
    "uri": [
        *("http://a", "a", "/a", "http://a b", "a:b", "mailto:x@y", "http://[::1]", "%zz"),
        *("http://a/%zz", "//a/b", "http://", "not a uri"),
    ],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000", "zz"],
    "by": ["YQ==", "YQ", "a-_=", "", "YWI=", "!!!"],
    "em": ["a@b", "a@b.c", "Foo <a@b.c>", "a b@c", "@", "a@", "x"],
    "host": ["a", "a.com", "-a", "a.b.c1", "a_b.com", "x" * 64, "a..b", "1.2.3.4", ""],
    "mac": ["01:02:03:04:05:06", "1:2:3:4:5:6", "0102.0304.0506", "01-02-03-04-05-06", "zz"],
    "date": ["2020-01-01", "2020-13-01", "20200101", "2020-1-1"],
    "isbn": ["0321751043", "978-0321751041", "123"],
    "cc": ["4111-1111-1111-1111", "123"],
    "ssn": ["111-11-1111", "11"],
    "hex": ["#fff", "fff", "#ffff"],
    "rgb": ["rgb(1,2,3)", "rgb(256,1,1)", "rgb(1, 2, 3)"],
    "pw": ["x", ""],
    "sn": ["a-b", "A", "a.b"],
    "ln": ["a.b", "A"],
    "unk": ["zz"],
    "bson": ["507f1f77bcf86cd799439011", "zz"],
}


def specs() -> dict[str, Json]:
    """By name: a spec with one field that may be wrong."""
    cases: dict[str, Json] = {"empty": {}, "only what is required": {"req": "r"}}
    for name, values in _VALUES.items():
        cases |= {f"{name} {value!r}": {"req": "r", name: value} for value in values}
    return cases


def make_gadget(spec: Any) -> Json:
    return {
        "apiVersion": "rec.example.io/v1",
        "kind": "Gadget",
        "metadata": {"name": "a"},
        "spec": spec,
    }
