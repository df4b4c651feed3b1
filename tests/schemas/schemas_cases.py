"""What is sent to the real kube-apiserver (schemas_record.py) and to our own code.

Bodies of built-in kinds, specs of a custom one, and definitions; each under a name that becomes a
test's id. Anything that a server of either kind could trip over belongs here.
"""

import json
from typing import Any

Json = dict[str, Any]

JSON, YAML = "application/json", "application/yaml"
PATHS = {
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "Secret": "/api/v1/namespaces/default/secrets",
    "ResourceQuota": "/api/v1/namespaces/default/resourcequotas",
    "Lease": "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
    "Gadget": "/apis/rec.example.io/v1/namespaces/default/gadgets",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
}


def _words(text: str) -> list[str]:
    return text.split(" ")


NAMED = '"metadata":{"name":"x"}'
MALFORMED = [
    *("", " ", "{", "x", "{bad", "[1,2", '{"a":"b', "{" + NAMED, "{" + NAMED + "]"),
    *("[]", "null", "1", '"x"', "{}", '{"kind":1}', '{"apiVersion":1}', '{"apiVersion":"a/b/c"}'),
    *('{"kind":"Pod"}', '{"kind":"Foo"}', '{"kind":"ConfigMap","apiVersion":"v2"}'),
    *('{"kind":"Foo","apiVersion":"a.b/v2"}', '{"kind":"Deployment","apiVersion":"apps/v1"}'),
    *("{" + NAMED + '} {"a":1}', "{" + NAMED + "} x", "{" + NAMED + ",}", "\ufeff{" + NAMED + "}"),
    *('{"a":NaN}', '{"a":tru}', '{"a":falsy}', '{"a":nul}', '{"a":01}', '{"a":.5}', '{"a":-}'),
    *('{"a":1.}', '{"a":1e}', '{"a":1e+}', '{"a":"\\x"}', '{"a":"\\u12"}', '{"a":"b\nc"}'),
    *('{"a" "b"}', "{1:2}", '{"a":[1 2]}', '{"a":[1,]}', '{"a":{}', "{\"a\":'b'}", '{"é":ü}'),
]
MISTYPED = [
    *('"data":{"a":1}', '"data":{"a":1.5}', '"data":[]', '"data":"a"', '"data":{"a":{}}'),
    *('"binaryData":{"a":"!!"}', '"binaryData":{"a":1}', '"immutable":"true"', '"immutable":1'),
    *(
        '"data":{"a":null}',
        '"data":null',
        '"data":{}',
        '"Data":{"a":"1"}',
        '"data":{"a":"\\ud800"}',
    ),
    *('"data":{"a":"\\ud83d\\ude00"}', '"foo":1', '"foo":1,"foo":2,"data":{"a":"1","a":"2"}'),
    '"metadata":{"name":"y","zed":{"q":1}}',
]
METADATA = [
    *('"labels":1', '"labels":{"a":1}', '"generation":"1"', '"generation":1.5', '"generation":1.0'),
    *('"generation":99999999999999999999', '"generation":1e3', '"finalizers":["a",1]'),
    *('"creationTimestamp":"zzz"', '"creationTimestamp":1', '"creationTimestamp":{}'),
    *(
        '"ownerReferences":[{"x":1,"controller":"true"}]',
        '"ownerReferences":{}',
        '"managedFields":1',
    ),
]


def _spec(**container: Any) -> Json:
    pod = {"containers": [{"name": "c", "image": "i", **container}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    return {"selector": {"matchLabels": {"a": "b"}}, "template": template}


DEPLOYMENTS: dict[str, Any] = {
    **{f"replicas-{json.dumps(v)}": {"replicas": v} for v in ("3", 3.0, 3 * 10**9, True, {}, [])},
    **{f"spec-{json.dumps(v)}": v for v in ([], 1, "x")},
    "unknown-in-lists": _spec(foo=1, ports=[{"x": 1, "containerPort": 1}, {"y": {"z": 1}}]),
    **{f"ports-{json.dumps(v)}": _spec(ports=v) for v in ({}, [1], ["a"])},
    **{
        f"limit-{json.dumps(v)}": _spec(resources={"limits": {"cpu": v}}) for v in ("abc", True, {})
    },
    "limits-1": _spec(resources={"limits": 1}),
    **{
        f"probe-port-{json.dumps(v)}": _spec(livenessProbe={"httpGet": {"port": v}})
        for v in (1.5, True, {}, 3 * 10**9, [])
    },
    "env-1": _spec(env=[{"name": 1}]),
}
REPEATED = (
    '{"spec":{"template":{"spec":{"containers":[{"name":"a","name":"b","env":[{"name":"x","name":"y"'
    '}],"zz":1,"zz":2},{"aa":1}],"nodeSelector":{"a":"1","a":"2"}}}}}'
)

_NAME = "metadata: {name: x}\n"
YAMLS = [
    *(
        _NAME + 'data: {a: "1"}',
        _NAME + "data: {a: 1}",
        _NAME + "data: {a: yes}",
        _NAME + "foo: 1\n",
    ),
    *(
        _NAME + "data: {a: 2024-01-01}",
        _NAME + "data:\n  a: b\n  a: c\n",
        "---\n" + _NAME,
        "",
        "null",
    ),
    *("---\n" + _NAME + "...\n", _NAME + "data: {a: *x}", "{bad", "- a", "x", "kind: 1", "a: [1"),
    *(_NAME + "data: {1: b, true: c, 1.5: d}", _NAME + "data: {~: e}", _NAME + "data: {a: !foo x}"),
    *(_NAME + "data: {a: !!binary aGk=}", _NAME + "data: {<<: {a: b}, c: d}", _NAME + "\tdata: {}"),
    *(_NAME + "data: {a: !!str 1}", _NAME + 'data: {a: "\\ud800"}', _NAME + 'data: {"a": "b", }'),
]
SCALARS = _words(
    "yes no on off Yes yEs y n Y N true TRUE tRue ~ null Null 0o7 0o8 07 010 08 0x10 0X1F 0b11 0B1"
    " 1_000 1_0.5 1e3 1E3 1.5e3 .5 5. +1 -1 +.5 -.5e-3 .inf -.inf .nan 1:30 190:20:30 2024-01-01"
    " 2024-01-01T00:00:00Z 1e400 -9223372036854775808 99999999999999999999 1__0 _1 1_ 0x_1 0o_7"
    " -0x10 +0x10 -0o7 0777 -010 00 0 -0 1.0 1.50 1e20 = << ! 0.0 0x 1e 1e+3 0b2 09.5 1,000 ++1"
    " 1.e3 0o 1.2.3"
)
TREES = [
    *("!!float 1", '!!int "3"', '!!bool "yes"', "!!str yes", '!!null ""', "!!timestamp 2024-01-01"),
    *("!!set {a, b}", "|\n      abc\n      d\n", "{y: 1, n: 2}", "{.inf: a}", "{2024-01-01: b}"),
    *("", "{a, b: }", "&x {a: *x}", "&x [1, 2]\n    w: *x", "{a: 1, a: 2}", '{a: 1, "a": 2}'),
    *("&a {b: 1}\n    w: {<<: *a, b: 2}", "{<<: [{a: 1},{a: 2, b: 3}], c: 1}", "{<<: 1}"),
    "{a: 1, <<: {a: 2}}",
]

AMOUNTS: list[Any] = [
    *_words(
        "1.5 1000m 1024Mi 0.5 1Gi 1.5Gi 1e3 100 1500 1000 0 1Ki 512 0.1 1n 0.0000000001"
        " 1E 12E 1e0 1536Mi 1.1Gi .5 5. + 1000000k 1023Ki 2048Ki 0.5Ki 1e-3 1E3 12e7 1.2e1 abc 1Gx"
        " 1.2.3 1ee 1e 1K 1i 1e+3 1u 123456789n 0Ki 0m 00 007 8Ei 1e21 1.0000000001Gi 3.3Mi"
        " 0.001Ki . 1mm e3 1e-10 123e-2 1_000 +1 +1.5Gi 2622.812 0.17090 6668.648P 34832431u"
    ),
    *("", " 1", "1 Gi", 1, 1.5, 0, 1e20, True),
]
TIMES = [
    *(
        "zzz",
        "",
        "2020-13-01T00:00:00Z",
        "2020-02-30T00:00:00Z",
        "2020-01-01",
        "2020-01-01T0:00:00Z",
    ),
    *(
        "2020-01-01T00:00:00",
        "2020-01-01T00:00:00Zx",
        "2020-01-01T25:00:00Z",
        "2020-1-01T00:00:00Z",
    ),
    *("2020-01-01T00:60:00Z", "2020-01-01T00:00:60Z", "2020-01-01T00:00:00+2:00", "20"),
    *("2020-01-01T00:00:00+25:00", "2020-01-01T00:00:00.123456Z", "2020-01-01T00:00:00,123456Z"),
    *("2020-01-01T00:00:00.123456+01:00", "2020-01-01T00:00:00.1234567Z", "2020-01-01T00:00:00.5Z"),
]
BINARIES = [
    *("YQ", "YQ==", "Y Q==", "YQ==\n", "YQ\n==", "YR==", "_-==", "YWI", "YWJj", "", "YQ=", "="),
    *("YQ==YQ==", "YWJjYQ", "YWJj=", "Y", "YQ=\n=", "YQ==a", "YWI=\r\n", "YWI==", "Y=Q=", "00=y"),
    *("yBz\n", "z+z9C1\nB\n", "é"),
]


def bodies() -> dict[str, tuple[str, str, str]]:
    """By name: the kind a body is sent as, its media type, and itself."""
    cases = {f"malformed {body!r}": ("ConfigMap", JSON, body) for body in MALFORMED}
    for text in MISTYPED:
        cases[f"config map {text}"] = ("ConfigMap", JSON, "{" + NAMED + "," + text + "}")
    for text in METADATA:
        body = '{"metadata":{"name":"x",' + text + "}}"
        cases[f"metadata {text}"] = ("ConfigMap", JSON, body)
    for name, spec in DEPLOYMENTS.items():
        deployment = {"metadata": {"name": "x"}, "spec": spec}
        cases[f"deployment {name}"] = ("Deployment", JSON, json.dumps(deployment))
    cases["deployment repeated"] = ("Deployment", JSON, REPEATED)
    cases |= {f"yaml {text!r}": ("ConfigMap", YAML, text) for text in YAMLS}
    for value in AMOUNTS:
        quota = {"metadata": {"name": "x"}, "spec": {"hard": {"requests.memory": value}}}
        cases[f"amount {value!r}"] = ("ResourceQuota", JSON, json.dumps(quota))
    for text in TIMES:
        lease = {"metadata": {"name": "x"}, "spec": {"renewTime": text}}
        cases[f"micro time {text!r}"] = ("Lease", JSON, json.dumps(lease))
        lease = {"metadata": {"name": "x", "managedFields": [{"time": text}]}}
        cases[f"time {text!r}"] = ("Lease", JSON, json.dumps(lease))
    for text in BINARIES:
        secret = {"metadata": {"name": "x"}, "data": {"a": text}}
        cases[f"binary {text!r}"] = ("Secret", JSON, json.dumps(secret))
    return cases | _custom_bodies()


def _custom_bodies() -> dict[str, tuple[str, str, str]]:
    cases = {}
    for text in [*SCALARS, *TREES]:
        head = "apiVersion: rec.example.io/v1\nkind: Gadget\nmetadata: {name: a}\nspec:\n  req: a\n"
        cases[f"scalar {text!r}"] = ("Gadget", YAML, f"{head}  any:\n    v: {text}\n")
    whole = '"apiVersion":"rec.example.io/v1","kind":"Gadget"'
    named = whole + ',"metadata":{"name":"a"}'
    for text in [
        *(
            "",
            "{}",
            "null",
            "[]",
            "{bad",
            '{"apiVersion":"rec.example.io/v1"}',
            '{"kind":"Gadget"}',
        ),
        *(
            "{" + named + "}",
            "{" + whole + ',"metadata":{"name":1}}',
            "{" + whole + ',"metadata":[]}',
        ),
        '{"apiVersion":"rec.example.io/v2","kind":"Gadget"}',
        '{"apiVersion":"v1","kind":"Pod"}',
        '{"apiVersion":1,"kind":"Gadget"}',
        "{" + whole + ',"metadata":{"name":"a","labels":{"a":1}}}',
        "{" + whole + ',"metadata":{"name":"a","creationTimestamp":"zz"}}',
        "{" + named + ',"spec":{"req":"a","any":{"x":1e20,"y":1.50,"z":-0.0,"v":1e-7}}}',
        "{" + whole + ',"metadata":{"name":"a","zz":1,"yy":2,"labels":{"a":"b","a":"c"}},"top":1,'
        '"spec":{"req":"a","req":"b","q":1,"any":{"x":1,"x":2,"l":[{"y":1,"y":2}]}}}',
    ]:
        cases[f"custom {text!r}"] = ("Gadget", JSON, text)
    return cases
