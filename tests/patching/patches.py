"""Patches whose outcome was asked of a real kube-apiserver (see tests/applying/record.py)."""

from typing import Any

Json = dict[str, Any]

CONFIG_MAP: Json = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "patched",
        "namespace": "default",
        "labels": {"a": "1", "b/c": "2"},
        "finalizers": ["ex.io/a", "ex.io/b", "ex.io/c"],
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u1"},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "y", "uid": "u2"},
        ],
    },
    "data": {"a": "1", "b": "2"},
}


def _env(*names: str) -> list[Json]:
    return [{"name": name, "value": name.lower()} for name in names]


DEPLOYMENT: Json = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "patched", "namespace": "default", "labels": {"app": "web"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web", "tier": "front"}},
            "spec": {
                "containers": [
                    {
                        "name": "web",
                        "image": "web:1",
                        "args": ["a", "b"],
                        "env": _env("A", "B", "C", "D"),
                        "ports": [{"containerPort": 80}, {"containerPort": 81}],
                        "volumeMounts": [
                            {"name": "v", "mountPath": "/v"},
                            {"name": "w", "mountPath": "/w"},
                        ],
                    },
                    {"name": "side", "image": "side:1"},
                    {"name": "third", "image": "third:1"},
                ],
                "volumes": [
                    {"name": "v", "emptyDir": {}},
                    {"name": "w", "configMap": {"name": "c"}},
                ],
                "tolerations": [{"key": "k", "operator": "Exists"}],
                "nodeSelector": {"disk": "ssd"},
            },
        },
    },
}


def _pod(**spec: Any) -> Json:
    return {"spec": {"template": {"spec": spec}}}


def _web(**more: Any) -> Json:
    return _pod(containers=[{"name": "web", **more}])


def _named(*names: str) -> list[Json]:
    return [{"name": name} for name in names]


JSON_PATCHES: list[Any] = [
    [],
    [{"op": "add", "path": "/data/c", "value": "3"}],
    [{"op": "replace", "path": "/data/new", "value": "made"}],
    [{"op": "remove", "path": "/data/a"}, {"op": "test", "path": "/data/a", "value": None}],
    [{"op": "remove", "path": "/metadata/labels/b~1c"}],
    [{"op": "replace", "path": "/metadata/labels/b~1c", "value": "9"}],
    [{"op": "add", "path": "/metadata/finalizers/0", "value": "ex.io/0"}],
    [{"op": "add", "path": "/metadata/finalizers/-", "value": "ex.io/z"}],
    [{"op": "add", "path": "/metadata/finalizers/-1", "value": "ex.io/z"}],
    [{"op": "add", "path": "/metadata/finalizers/-2", "value": "ex.io/y"}],
    [{"op": "add", "path": "/metadata/finalizers/3", "value": "ex.io/3"}],
    [{"op": "add", "path": "/metadata/finalizers/+1", "value": "ex.io/1"}],
    [{"op": "add", "path": "/metadata/finalizers/01", "value": "ex.io/1"}],
    [{"op": "remove", "path": "/metadata/finalizers/-1"}],
    [{"op": "replace", "path": "/metadata/finalizers/1", "value": "ex.io/new"}],
    [{"op": "move", "from": "/metadata/finalizers/0", "path": "/metadata/finalizers/-"}],
    [{"op": "move", "from": "/data/a", "path": "/metadata/labels/moved"}],
    [
        {"op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations"},
        {"op": "add", "path": "/metadata/annotations/only-here", "value": "x"},
    ],
    [{"op": "test", "path": "/metadata/finalizers", "value": ["ex.io/a", "ex.io/b", "ex.io/c"]}],
    [{"op": "test", "path": "/data", "value": {"b": "2", "a": "1"}}],
    [{"op": "add", "path": "ignored/data/q", "value": "1"}],
    [{"op": "add", "path": "/metadata/finalizers/4", "value": "ex.io/4"}],
    [{"op": "add", "path": "/metadata/finalizers/x", "value": "ex.io/4"}],
    [{"op": "add", "path": "/metadata/finalizers/-5", "value": "ex.io/4"}],
    [{"op": "add", "path": "/nothing/here", "value": "1"}],
    [{"op": "add", "path": "/data/a/b", "value": "1"}],
    [{"op": "add", "path": "", "value": {}}],
    [{"op": "add", "path": "x", "value": {}}],
    [{"op": "remove", "path": "/metadata/finalizers/3"}],
    [{"op": "remove", "path": "/metadata/finalizers/-"}],
    [{"op": "replace", "path": "/metadata/finalizers/3", "value": "x"}],
    [{"op": "move", "from": "/data/none", "path": "/data/x"}],
    [{"op": "move", "path": "/data/x"}],
    [{"op": "copy", "from": "/none/none", "path": "/data/x"}],
    [{"op": "copy", "path": "/data/x"}],
    [{"op": "test", "path": "/data/a", "value": "2"}],
    [{"op": "test", "path": "/data/a"}],
    [{"op": "test", "path": "/data", "value": {"a": "1"}}],
    [{"op": "test", "path": "/metadata/generation", "value": 1.0}],
    [{"op": "frobnicate", "path": "/data/a"}],
    [{"op": "add"}],
    [{}],
    [None],
    None,
    {},
    [1],
    "text",
    [{"op": 1}],
    [{"op": "add", "path": []}],
    [{"op": "move", "path": "/a", "from": True}],
    [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001,
]

MERGE_PATCHES: list[Any] = [
    {},
    {"data": {"a": None, "c": "3"}},
    {"data": None},
    {"metadata": {"labels": {"a": None, "n": "1"}, "annotations": {"x": "y", "gone": None}}},
    {"metadata": {"finalizers": ["ex.io/n"]}},
    {"metadata": {"ownerReferences": [CONFIG_MAP["metadata"]["ownerReferences"][1]]}},
    None,
    [],
    5,
    "text",
    True,
]

CONFIG_MAP_STRATEGIC: list[Any] = [
    {},
    None,
    {"data": {"a": None, "c": "3"}},
    {"data": {"$patch": "replace", "z": "1"}},
    {"data": {"$patch": "delete"}},
    {"binaryData": {"$patch": "replace", "z": "MQ=="}},
    {"metadata": {"finalizers": ["ex.io/d", "ex.io/a"]}},
    {"metadata": {"finalizers": []}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": ["ex.io/a", "ex.io/none"]}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": None}},
    {
        "metadata": {
            "$deleteFromPrimitiveList/finalizers": ["ex.io/a"],
            "$setElementOrder/finalizers": ["ex.io/c", "ex.io/new", "ex.io/b"],
            "finalizers": ["ex.io/new"],
        }
    },
    {"metadata": {"$setElementOrder/finalizers": ["ex.io/c", "ex.io/a"]}},
    {"metadata": {"ownerReferences": [{"uid": "u2", "$patch": "delete"}]}},
    {"metadata": {"ownerReferences": [{"uid": "u2", "controller": True}]}},
    {"metadata": {"ownerReferences": None}},
    {"metadata": {"$retainKeys": ["name", "namespace", "labels"], "labels": {"a": "9"}}},
    {"metadata": {"$retainKeys": ["name"], "labels": {"a": "9"}}},
    {"metadata": {"$retainKeys": "name"}},
    {"metadata": {"$setElementOrder/finalizers": "x"}},
    {"metadata": {"$setElementOrder": []}},
    {"metadata": {"$setElementOrder/nothing": []}},
    {"metadata": {"$setElementOrder/finalizers": ["ex.io/a"], "finalizers": ["ex.io/b"]}},
    {"metadata": {"$setElementOrder/ownerReferences": [{"name": "x"}]}},
    {"metadata": {"$setElementOrder/ownerReferences": ["x"], "ownerReferences": [{"uid": "u1"}]}},
    {"metadata": {"$deleteFromPrimitiveList": []}},
    {"metadata": {"finalizers": [1]}},
    {"metadata": {"finalizers": [None]}},
    {"metadata": {"ownerReferences": [{"name": "x"}]}},
    {"metadata": {"ownerReferences": [{"$patch": "delete"}]}},
    {"metadata": {"ownerReferences": [{"$patch": "merge"}]}},
    {"metadata": {"ownerReferences": [{"$patch": "sideways", "uid": "u1"}]}},
    {"metadata": {"$patch": "sideways"}},
    [],
    5,
    "text",
]

DEPLOYMENT_STRATEGIC: list[Any] = [
    {"spec": {"replicas": None, "paused": True}},
    _web(image="web:2"),
    _pod(containers=[{"name": "new", "image": "n"}]),
    _pod(containers=[{"name": "new", "image": "n"}, {"name": "third", "image": "t"}]),
    _pod(containers=[{"name": "side", "$patch": "delete"}]),
    _pod(containers=[{"$patch": "replace"}, {"name": "only", "image": "o"}]),
    _pod(containers=[{"name": "only", "image": "o"}, {"$patch": "replace"}]),
    _pod(containers=[{"name": "third", "image": "3"}, {"name": "web", "image": "1"}]),
    {
        "spec": {
            "template": {
                "spec": {
                    "$setElementOrder/containers": _named("third", "new", "web", "side"),
                    "containers": [{"name": "new", "image": "n"}, {"name": "web", "image": "w"}],
                }
            }
        }
    },
    _pod(**{"$setElementOrder/containers": _named("side", "web")}),
    _pod(**{"$setElementOrder/containers": _named("third", "web", "nobody")}),
    _pod(
        **{
            "$setElementOrder/containers": _named("web", "third"),
            "containers": [{"name": "side", "$patch": "delete"}],
        }
    ),
    _web(env=_env("Z", "C", "Y")),
    _web(env=[{"name": "B", "$patch": "delete"}, {"name": "D", "value": None}]),
    _web(**{"$setElementOrder/env": _named("D", "A", "N"), "env": _env("N")}),
    _web(args=["c"]),
    _web(args=[]),
    _web(args=None),
    _web(ports=[{"containerPort": 81, "name": "x"}, {"containerPort": 82}]),
    _web(volumeMounts=[{"mountPath": "/v", "$patch": "delete"}]),
    _web(resources={"limits": {"cpu": "2", "memory": None}}),
    _pod(tolerations=[{"key": "other", "operator": "Exists"}]),
    _pod(nodeSelector={"zone": "a"}),
    _pod(nodeSelector={"$patch": "replace", "zone": "a"}),
    _pod(nodeSelector={"$patch": "delete"}),
    _pod(volumes=[{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]),
    _pod(volumes=[{"name": "v", "emptyDir": None, "hostPath": {"path": "/"}}]),
    {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
    {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}},
    {"spec": {"strategy": {"$retainKeys": ["rollingUpdate"], "type": "Recreate"}}},
    {"spec": {"template": {"metadata": {"labels": {"tier": None, "x": "y"}}}}},
    _pod(affinity={"nodeAffinity": {"$patch": "replace"}, "podAffinity": None}),
    _pod(containers=[{"image": "nameless"}]),
    _pod(containers=["text"]),
]

RECORDINGS: dict[str, tuple[Json, str, list[Any]]] = {
    "json-on-config-map": (CONFIG_MAP, "json", JSON_PATCHES),
    "merge-on-config-map": (CONFIG_MAP, "merge", MERGE_PATCHES),
    "strategic-on-config-map": (CONFIG_MAP, "strategic", CONFIG_MAP_STRATEGIC),
    "strategic-on-deployment": (DEPLOYMENT, "strategic", DEPLOYMENT_STRATEGIC),
}
