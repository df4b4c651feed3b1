"""What is asked of the real kube-apiserver, so that its answers can be held against ours.

A scenario is one object's life: steps that create, update, patch and apply it, by various managers.
`record.py` runs them; `test_applying_recorded.py` replays what was recorded.
"""

from scenario_steps import (
    LAST_APPLIED,
    apply,
    config_map,
    container,
    create,
    deployment,
    merge,
    scale,
    scenario,
    shape,
    step,
    update,
)

SCENARIOS = [
    scenario(
        "config-map-updates",
        "ConfigMap",
        create("one", config_map({"a": "1", "b": "2"}, labels={"x": "y"}, annotations={"n": ""})),
        update("two", {"data": {"a": "3"}}),
        update("two", {"data": {"a": "3"}}),
        update("one", {"data": {"b": None, "c": "4"}}),
        merge("three", {"metadata": {"labels": {"x": None, "z": "1"}}}),
        merge("three", {"data": None}),
        merge("one", {"data": {}}),
        merge("one", {"immutable": False}),
        merge("four", {"metadata": {"finalizers": ["ex.io/a", "ex.io/b"]}}),
        merge("five", {"metadata": {"finalizers": ["ex.io/b"]}}),
        merge("five", {"metadata": {"finalizers": None}}),
    ),
    scenario(
        "config-map-applies",
        "ConfigMap",
        apply("one", config_map({"a": "1", "b": "2"}, labels={"x": "y"})),
        apply("one", config_map({"a": "1", "b": "2"}, labels={"x": "y"})),
        apply("two", config_map({"a": "1"})),
        apply("two", config_map({"a": "2"})),
        apply("two", config_map({"a": "2", "b": "3"})),
        apply("two", config_map({"a": "2", "c": "3"}), force=True),
        apply("one", config_map({"b": "2"})),
        update("three", {"data": {"b": "9", "d": "1"}}),
        apply("one", config_map({"b": "2", "d": "2"})),
        apply("one", config_map({}, labels={"q": "1"})),
        apply("two", config_map({})),
        apply("two", config_map()),
        apply("one", config_map()),
    ),
    scenario(
        "config-map-null-and-empty",
        "ConfigMap",
        apply("one", config_map({"a": None, "b": ""})),
        apply("one", config_map({})),
        apply("two", {"metadata": {"labels": None}, "data": None}),
        merge("three", {"data": {"x": "1"}}),
        apply("two", {"metadata": {"labels": {}}, "data": {}}),
    ),
    scenario(
        "config-map-managed-fields-sent",
        "ConfigMap",
        create("one", config_map({"a": "1", "b": "2"})),
        merge("two", {"metadata": {"managedFields": [{}]}}),
        merge("two", {"data": {"a": "2"}}),
        apply("three", config_map({"a": "3"})),
        apply("three", config_map({"a": "3"}), force=True),
        merge("two", {"metadata": {"managedFields": []}}),
        apply("three", config_map({"a": "3"})),
        merge(
            "two",
            {
                "metadata": {
                    "managedFields": [
                        {
                            "manager": "made-up",
                            "operation": "Update",
                            "apiVersion": "v1",
                            "time": "2020-01-01T01:00:00+01:00",
                            "fieldsType": "FieldsV1",
                            "fieldsV1": {
                                "f:data": {"f:zz": {}, "f:a": {}, ".": {}},
                                "x:unknown": {},
                                "f:metadata": {
                                    "f:ownerReferences": {'k:{"uid": "1"}': {}},
                                },
                            },
                        }
                    ]
                }
            },
        ),
        merge("two", {"data": {"c": "1"}}),
        merge(
            "two",
            {"metadata": {"managedFields": [{"manager": "bad", "operation": "Nothing"}]}},
        ),
        apply("four", {"metadata": {"managedFields": []}}),
    ),
    scenario(
        "config-map-kubectl",
        "ConfigMap",
        create(
            "kubectl-client-side-apply",
            config_map(
                {"a": "1", "b": "2", "h": "<&>"},
                annotations={
                    LAST_APPLIED: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":'
                    '{},"name":"config-map-kubectl","namespace":"default"},'
                    '"data":{"a":"1","b":"2","h":"<&>"}}\n'
                },
            ),
        ),
        apply("kubectl", config_map({"a": "3", "b": "2", "h": "<&>"})),
        merge("other", {"data": {"b": "7"}}),
        apply("kubectl", config_map({"a": "4", "b": "2", "h": "<&>"})),
        apply("kubectl", config_map({"a": "4", "b": "7"}, annotations={"x": "y"})),
        apply("kubectl", config_map({"a": "4", "b": "7"}, annotations={"x": "y"})),
    ),
    scenario(
        "config-map-many-managers",
        "ConfigMap",
        create("m00", config_map({"m00": "0"})),
        *(merge(f"m{i:02}", {"data": {f"m{i:02}": "1"}}) for i in range(1, 14)),
        apply("applier", config_map({"m03": "1"})),
        merge("m99", {"data": {"m03": "2"}}),
    ),
    scenario(
        "config-map-owner-references",
        "ConfigMap",
        create(
            "one",
            config_map(
                {},
                ownerReferences=[
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u1"},
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "y", "uid": "u2"},
                ],
            ),
        ),
        apply(
            "two",
            config_map(
                ownerReferences=[
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "z", "uid": "u3"},
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u1"},
                ],
            ),
        ),
        apply("two", config_map()),
    ),
    scenario(
        "deployment-updates",
        "Deployment",
        create(
            "one",
            deployment(
                container(
                    env=[{"name": "A", "value": "1"}, {"name": "B<&>", "value": "2"}],
                    ports=[{"containerPort": 8080}, {"containerPort": 80, "name": "http"}],
                    resources={"limits": {"cpu": "1"}},
                    volumeMounts=[{"name": "v", "mountPath": "/v"}],
                    args=["a"],
                ),
                pod={"volumes": [{"name": "v", "emptyDir": {}}]},
            ),
        ),
        merge("two", {"spec": {"replicas": 3}}),
        merge("two", {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}),
        step(
            "strategic",
            "three",
            {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "i:2"}]}}}},
        ),
        step(
            "strategic",
            "three",
            {
                "spec": {
                    "template": {
                        "spec": {
                            "containers": [
                                {
                                    "name": "web",
                                    "ports": [{"containerPort": 80, "$patch": "delete"}],
                                    "env": [{"name": "C", "value": "3"}],
                                }
                            ]
                        }
                    }
                }
            },
        ),
        step(
            "json",
            "four",
            [{"op": "remove", "path": "/spec/template/spec/containers/0/env/1"}],
        ),
        merge("status", {"status": {"replicas": 7}}),
        merge(
            "status",
            {
                "status": {
                    "replicas": 2,
                    "conditions": [{"type": "Available", "status": "True", "reason": "r"}],
                },
                "metadata": {"labels": {"ignored": "yes"}, "annotations": {"kept": "yes"}},
            },
            subresource="status",
        ),
        merge("other", {"status": {"replicas": 3, "conditions": None}}, subresource="status"),
        merge("two", {"spec": {"replicas": 3}}),
    ),
    scenario(
        "deployment-applies",
        "Deployment",
        apply(
            "one",
            deployment(
                container(ports=[{"containerPort": 80}], env=[{"name": "A", "value": "1"}]),
            ),
        ),
        apply(
            "one",
            deployment(
                container(ports=[{"containerPort": 80}], env=[{"name": "A", "value": "1"}]),
            ),
        ),
        apply(
            "two",
            deployment(
                container("side", env=[{"name": "Z", "value": "1"}]),
                container(ports=[{"containerPort": 81, "protocol": "UDP"}]),
                spec={"replicas": 2},
            ),
        ),
        apply("two", deployment(container("side", image="other"))),
        apply(
            "one",
            deployment(
                container(
                    ports=[{"containerPort": 81, "protocol": "UDP"}, {"containerPort": 80}],
                    env=[{"name": "B", "value": "1"}, {"name": "A", "value": "2"}],
                    resources={"requests": {"cpu": "1500m"}},
                ),
            ),
        ),
        apply("one", {"spec": {"template": {"spec": {"containers": [{"name": "side"}]}}}}),
        apply("three", {"spec": {"template": {"spec": {"containers": [container(image="x")]}}}}),
        apply(
            "three",
            {"spec": {"template": {"spec": {"containers": [container(image="x")]}}}},
            force=True,
        ),
        apply("three", {"spec": {"strategy": {"type": "Recreate"}}}),
        apply("three", {"spec": {"paused": True}}),
        apply("four", {"spec": {"nothing": 1}}),
        apply("four", {"spec": {"replicas": "one"}}),
        apply("four", {"spec": {"template": 5}}),
        apply("four", {"spec": {"paused": "yes"}}),
        apply(
            "four",
            deployment(container(ports=[{"containerPort": 1}, {"containerPort": 1}])),
        ),
        apply("four", deployment(container(), container())),
        apply("four", deployment({"image": "no-name"})),
        apply("four", {"metadata": {"finalizers": ["a.io/x", "a.io/x"]}}),
        apply("four", {"metadata": {"finalizers": [{"a": 1}]}}),
        apply("four", {"metadata": {"labels": {"n": 5}}}),
        apply("status", {"status": {"replicas": 4}}, subresource="status"),
        apply("status", {"status": {"replicas": 5}, "spec": {"replicas": 9}}, subresource="status"),
        apply("five", {"status": {"replicas": 6}}),
    ),
    scenario(
        "deployment-scale",
        "Deployment",
        create("one", deployment(container(), spec={"replicas": 1})),
        merge("two", {"spec": {"replicas": 2}}, subresource="scale"),
        merge("two", {"spec": {"replicas": 3}}, subresource="scale"),
        merge("three", {"spec": {"replicas": 4}}, subresource="scale"),
        merge("two", {"spec": {"replicas": 4}}, subresource="scale"),
        merge("one", {"spec": {"replicas": 5}}),
        merge("two", {"spec": {"replicas": 6}}, subresource="scale"),
        apply("four", {"spec": {"replicas": 7}}),
        apply("four", {"spec": {"replicas": 7}}, force=True),
        merge("two", {"spec": {"replicas": 8}}, subresource="scale"),
        apply("five", scale(9), subresource="scale"),
        apply("five", scale(9), subresource="scale", force=True),
        apply("five", scale(10), subresource="scale"),
        apply("six", scale(10), subresource="scale"),
        apply("five", {"spec": {"replicas": 10}}),
    ),
    scenario(
        "service-ports",
        "Service",
        apply("one", {"spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}}),
        apply(
            "two",
            {
                "spec": {
                    "ports": [
                        {"port": 53, "name": "dns", "protocol": "UDP"},
                        {"port": 80, "name": "http"},
                    ]
                }
            },
        ),
        apply("one", {"spec": {"selector": {"a": "c"}}}),
        merge("three", {"spec": {"ports": [{"port": 81, "name": "x"}], "selector": {"a": None}}}),
        apply("two", {"spec": {"ports": [{"port": 81, "name": "x"}]}}),
    ),
    scenario(
        "shape-updates",
        "Shape",
        create(
            "one",
            {
                **shape(
                    size=1,
                    ratio=0.5,
                    port="http",
                    tags=["b", "a"],
                    numbers=[10, 9],
                    words=["x", "y"],
                    doors=[{"side": "n", "colour": "red"}, {"side": "n", "floor": 1}],
                    names={"x": {"first": "A"}, "y": {}},
                    point={"x": 1, "y": 2},
                    free={"m": {"n": [1, {"a": 1}], "o": True}, "l": []},
                ),
                "status": {"phase": "dropped"},
            },
        ),
        merge("two", shape(tags=["c", "a"], numbers=[9, 100, 10])),
        merge("two", shape(words=["y"], point={"x": 2})),
        merge("two", shape(free={"m": {"o": 1, "p": None, "n": [2]}, "l": {"now": "map"}})),
        merge("three", shape(free={"m": 5, "l": {"now": None}})),
        merge("three", shape(names={"x": {"first": None, "last": "B"}, "y": None, "z": {}})),
        merge("four", shape(doors=[{"side": "s"}, {"side": "n", "floor": 1, "colour": "blue"}])),
        merge("five", {"status": {"phase": "up"}}, subresource="status"),
        merge("five", {"status": {"seen": 1}, "spec": {"size": 5}}, subresource="status"),
        merge("five", {"status": {"seen": 9}}),
        merge("six", {"spec": None}),
        update("six", {"spec": {}}),
    ),
    scenario(
        "shape-applies",
        "Shape",
        apply(
            "one",
            shape(
                size=1,
                tags=["b", "a"],
                doors=[{"side": "n"}, {"side": "e", "floor": 2, "locks": {"a": "b"}}],
                names={"x": {"first": "A"}},
                point={"x": 1},
                free={"m": {"n": [1]}},
            ),
        ),
        apply("two", shape(tags=["c", "a"], numbers=[3, 1, 2], point={"x": 1})),
        apply(
            "two",
            shape(
                tags=["d", "c"],
                doors=[
                    {"side": "w"},
                    {"side": "e", "floor": 2, "colour": "red"},
                    {"side": "s"},
                    {"side": "n", "colour": "red"},
                ],
                free={"m": {"o": 1}, "p": []},
                names={"x": {"last": "B"}, "y": {}},
            ),
        ),
        apply("two", shape(point={"y": 3}, free={"m": {"n": [2]}})),
        apply("two", shape(point={"y": 3}, free={"m": {"n": [2]}}), force=True),
        apply("one", shape(tags=["a"], names={"x": {}})),
        apply("one", shape(size=None, names={"x": None}, tags=[])),
        merge("three", shape(doors=[{"side": "z", "locks": {"k": "v", "k2": "v"}}])),
        apply("one", shape(doors=[{"side": "z", "locks": {"k": "v"}}], size=2)),
        apply("one", shape(doors=[{"side": "z"}])),
        apply("four", shape(unknown=1)),
        apply("four", shape(tags=["x", "x"])),
        apply("four", shape(doors=[{"colour": "x"}, {"floor": 0}])),
        apply("four", shape(doors=["x"])),
        apply("four", shape(size="x", ratio=True, words={"a": 1}, tags=[None])),
        apply("four", shape(free=5)),
        apply("four", {**shape(size=3), "status": {"phase": "x"}}),
        apply("four", {"status": {"phase": "x"}}, subresource="status"),
    ),
    scenario(
        "shape-before-first-apply",
        "Shape",
        create("one", shape(size=1, tags=["a"], free={"a": 1})),
        merge("two", {"metadata": {"managedFields": []}, "spec": {"size": 2}}),
        merge("two", {"metadata": {"managedFields": [{}]}, "spec": {"size": 2}}),
        apply("three", shape(size=2)),
        apply("three", shape(tags=["b"], size=3), force=True),
        apply("three", shape()),
    ),
    scenario(
        "shape-lists-of-nothing",
        "Shape",
        apply("one", shape(size=0, free={}, point={}, names={}, doors=[])),
        apply("one", shape()),
        apply("one", shape(size=1)),
        apply("one", shape(tags=[])),
        apply("two", shape(size=1)),
        apply("two", shape(tags=[], size=2)),
    ),
    scenario(
        "shape-nothing-then-lists-of-nothing",
        "Shape",
        create("one", shape()),
        apply("two", shape(size=0, tags=[])),
        apply("two", shape()),
    ),
    scenario(
        "shape-items-in-order",
        "Shape",
        create("one", shape(tags=["a", "b", "c", "d"])),
        apply("two", shape(tags=["e", "c", "a", "f"])),
        apply("two", shape(tags=["b", "g", "a"])),
        apply("three", shape(tags=["g", "d", "h", "b"])),
        apply("two", shape(tags=["z"])),
        apply("three", shape(tags=[])),
    ),
]
