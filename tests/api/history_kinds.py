"""The kinds of random histories, and what writers say of their objects.

Bodies are small and drawn from few values, so that writers meet: the same keys, the same items, at
times with other values. They lack name and type. `STRUCTURE` is a kind with all that schemas have.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from atoll.wire import Wire

Bodies = st.SearchStrategy[Wire]

texts = st.sampled_from("abc")
digits = st.sampled_from("12")
numbers = st.integers(0, 3)
nothing: Any = st.none()


@dataclass(frozen=True)
class Kind:
    """A kind and what is written into its objects."""

    kind: str
    root: str  # the path of the collection, without the namespace
    api_version: str
    bodies: Bodies
    statuses: Any = nothing
    subresources: tuple[str, ...] = ()
    versions: tuple[str, ...] = ("v1",)


def some(required: Wire | None = None, **optional: Any) -> Bodies:
    """Maps with the required keys and any of the others."""
    return st.fixed_dictionaries(required or {}, optional=optional)


def several(items: Any, key: Callable[[Any], Any] | None = None) -> Any:
    """Up to three items, no two of them with the same key."""
    unique: Any = {"unique_by": key} if key else {"unique": True}
    return st.lists(items, max_size=3, **unique)


def by(*names: str) -> Callable[[Wire], Any]:
    return lambda item: tuple(item.get(name) for name in names)


labels = st.dictionaries(texts, digits, max_size=2)
configmaps = some(
    data=st.dictionaries(texts, digits, max_size=3),
    binaryData=st.dictionaries(st.sampled_from("de"), st.just("YQ=="), max_size=1),
)
variables = several(some({"name": texts}, value=st.sampled_from(("", "1", "2"))), by("name"))
users = st.integers(0, 1)
amounts = st.dictionaries(
    st.sampled_from(("cpu", "memory")), st.sampled_from(("1", "1000m", 2)), max_size=2
)


def ports(first: int) -> Any:
    """Ports no two of which are the same, however they are merged: that would be warned of."""
    one = some({"containerPort": st.just(first)}, protocol=st.just("TCP"), hostIP=st.just(""))
    other = some({"containerPort": st.just(first + 1), "protocol": st.just("UDP")}, name=texts)
    return several(one | other, by("containerPort"))


def container(name: str, port: int) -> Bodies:
    return some(
        {"name": st.just(name), "image": st.sampled_from(("i:1", "i:2"))},
        ports=ports(port),
        env=variables,
        tty=st.booleans(),
        workingDir=st.sampled_from(("", "/a")),
        args=st.lists(texts, max_size=2),
        resources=some(limits=amounts),
        securityContext=some(runAsUser=users),
    )


containers = st.lists(
    container("main", 80) | container("side", 90),
    min_size=1,
    max_size=2,
    unique_by=by("name"),
)
pods = some(
    {"containers": containers},
    nodeSelector=labels,
    terminationGracePeriodSeconds=numbers,
    tolerations=st.lists(some({"key": texts, "operator": st.just("Exists")}), max_size=2),
    hostAliases=several(
        some({"ip": st.just("1.2.3.4")}, hostnames=st.lists(texts, max_size=2)), by("ip")
    ),
    imagePullSecrets=several(some({"name": texts}), by("name")),
)


def template(restart: str = "") -> Bodies:
    return st.tuples(pods, some(annotations=labels)).map(
        lambda pair: {
            "metadata": {**pair[1], "labels": {"app": "a"}},
            "spec": {**pair[0], **({"restartPolicy": restart} if restart else {})},
        }
    )


selector = st.builds(lambda: {"matchLabels": {"app": "a"}})
SINCE = "2020-01-01T00:00:00Z"
conditions = several(
    some(
        {
            "type": st.sampled_from(("Available", "Progressing")),
            "status": st.sampled_from(("True", "False")),
            "lastTransitionTime": st.just(SINCE),
            "lastUpdateTime": st.just(SINCE),
        },
        reason=texts,
    ),
    by("type"),
)
deployments = some(
    spec=some(
        {"selector": selector, "template": template()},
        replicas=numbers,
        paused=st.booleans(),
        strategy=st.sampled_from(({"type": "Recreate"}, {"type": "RollingUpdate"}, {})).map(dict),
        minReadySeconds=numbers,
    )
)
statefulsets = some(
    spec=some(
        {"selector": selector, "template": template(), "serviceName": st.just("s")},
        replicas=numbers,
        podManagementPolicy=st.sampled_from(("OrderedReady", "Parallel")),
        ordinals=some(start=numbers),
    )
)
jobs = st.tuples(template("Never"), some(backoffLimit=numbers, suspend=st.booleans())).map(
    lambda pair: {"template": pair[0], **pair[1]}
)
cronjobs = some(
    spec=some(
        {
            "schedule": st.sampled_from(("* * * * *", "1 * * * *")),
            "jobTemplate": some({"spec": jobs}),
        },
        suspend=st.booleans(),
        concurrencyPolicy=st.sampled_from(("Allow", "Forbid")),
        successfulJobsHistoryLimit=numbers,
    )
)
services = some(
    spec=some(
        {
            "clusterIP": st.just("None"),
            "selector": st.dictionaries(texts, digits, min_size=1, max_size=2),
            "ports": st.lists(
                some(
                    {"port": st.sampled_from((80, 81)), "name": st.sampled_from(("web", "dns"))},
                    protocol=st.sampled_from(("TCP", "UDP")),
                    targetPort=st.sampled_from((80, "web")),
                    appProtocol=texts,
                ),
                min_size=1,
                max_size=2,
                unique_by=(
                    lambda port: port["name"],
                    lambda port: (port["port"], port.get("protocol", "TCP")),
                ),
            ),
        },
        publishNotReadyAddresses=st.booleans(),
    )
)
rolebindings = some(
    {
        "roleRef": st.builds(
            lambda: {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
        )
    },
    subjects=st.lists(
        some({"kind": st.sampled_from(("User", "Group")), "name": texts}), max_size=2
    ),
)
ingresses = some(
    spec=some(
        {
            "rules": st.lists(
                some(
                    {
                        "http": some(
                            {
                                "paths": st.lists(
                                    some(
                                        {
                                            "path": st.sampled_from(("/a", "/b")),
                                            "pathType": st.sampled_from(("Prefix", "Exact")),
                                            "backend": st.builds(
                                                lambda: {
                                                    "service": {"name": "s", "port": {"number": 80}}
                                                }
                                            ),
                                        }
                                    ),
                                    min_size=1,
                                    max_size=2,
                                )
                            }
                        )
                    },
                    host=st.sampled_from(("a.io", "b.io")),
                ),
                min_size=1,
                max_size=2,
            )
        },
        ingressClassName=texts,
        tls=st.lists(
            some(hosts=st.lists(st.just("a.io"), max_size=1), secretName=texts), max_size=2
        ),
    )
)
autoscalers = some(
    spec=some(
        {
            "scaleTargetRef": st.builds(
                lambda: {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
            ),
            "maxReplicas": st.integers(3, 5),
        },
        minReplicas=st.integers(1, 2),
        metrics=st.lists(
            some(
                {
                    "type": st.just("Resource"),
                    "resource": some(
                        {
                            "name": st.sampled_from(("cpu", "memory")),
                            "target": some(
                                {
                                    "type": st.just("Utilization"),
                                    "averageUtilization": st.integers(1, 3),
                                }
                            ),
                        }
                    ),
                }
            ),
            max_size=2,
        ),
        behavior=some(scaleDown=some(stabilizationWindowSeconds=numbers)),
    )
)
leaf = st.one_of(numbers, texts, st.booleans(), st.none())
free = st.dictionaries(
    texts,
    st.recursive(
        leaf,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
        max_leaves=4,
    ),
    max_size=2,
)
structures = some(
    spec=some(
        size=numbers,
        ratio=st.sampled_from((0.5, 1, 2.5)),
        replicas=numbers,
        port=numbers | texts,
        maybe=numbers | st.none(),
        mood=st.sampled_from(("calm", "wild")),
        tags=several(texts),
        numbers=several(numbers),
        words=st.lists(texts, max_size=2),
        doors=several(
            some(
                {"side": texts},
                floor=numbers,
                colour=texts,
                locks=st.dictionaries(texts, digits, max_size=2),
            ),
            lambda door: (door["side"], door.get("floor", 0)),
        ),
        rooms=several(
            some({"name": texts}, size=numbers, tags=several(texts), deep=some(a=numbers, b=texts)),
            by("name"),
        ),
        names=st.dictionaries(texts, some(first=texts, last=texts), max_size=2),
        point=some(x=numbers, y=numbers),
        whole=some(x=numbers, tags=several(texts)),
        free=free,
    )
)
structure_statuses = some(phase=texts, seen=numbers, replicas=numbers, conditions=conditions)

LIST_MAP = {"type": "array", "x-kubernetes-list-type": "map"}
INTEGER, STRING = {"type": "integer"}, {"type": "string"}
TAGS = {"type": "array", "x-kubernetes-list-type": "set", "items": STRING}
STRUCTURE_SPEC: Wire = {
    "type": "object",
    "properties": {
        "size": INTEGER,
        "ratio": {"type": "number"},
        "replicas": {"type": "integer", "format": "int32"},
        "port": {"x-kubernetes-int-or-string": True},
        "maybe": {"type": "integer", "nullable": True},
        "mood": {"type": "string", "default": "calm"},
        "tags": TAGS,
        "numbers": {**TAGS, "items": INTEGER},
        "words": {"type": "array", "items": STRING},
        "doors": {
            **LIST_MAP,
            "x-kubernetes-list-map-keys": ["side", "floor"],
            "items": {
                "type": "object",
                "required": ["side"],
                "properties": {
                    "side": STRING,
                    "floor": {"type": "integer", "default": 0},
                    "colour": STRING,
                    "locks": {"type": "object", "additionalProperties": STRING},
                },
            },
        },
        "rooms": {
            **LIST_MAP,
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": STRING,
                    "size": {"type": "integer", "default": 1},
                    "tags": TAGS,
                    "deep": {"type": "object", "properties": {"a": INTEGER, "b": STRING}},
                },
            },
        },
        "names": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {"first": STRING, "last": STRING},
            },
        },
        "point": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"x": INTEGER, "y": INTEGER},
        },
        "whole": {
            "type": "object",
            "default": {"x": 1},
            "properties": {"x": INTEGER, "tags": TAGS},
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
STRUCTURE_STATUS: Wire = {
    "type": "object",
    "properties": {
        "phase": STRING,
        "seen": INTEGER,
        "replicas": INTEGER,
        "conditions": {
            **LIST_MAP,
            "x-kubernetes-list-map-keys": ["type"],
            "items": {
                "type": "object",
                "required": ["type"],
                "properties": {
                    "type": STRING,
                    "status": STRING,
                    "reason": STRING,
                    "lastTransitionTime": STRING,
                },
            },
        },
    },
}
GROUP = "histories.example.io"


def _version(name: str, *, storage: bool) -> Wire:
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
            },
        },
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": STRUCTURE_SPEC, "status": STRUCTURE_STATUS},
            }
        },
    }


DEFINITION: Wire = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"structures.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "structures", "singular": "structure", "kind": "Structure"},
        "versions": [_version("v1", storage=True), _version("v2", storage=False)],
    },
}
STRUCTURES = f"/apis/{GROUP}/v1/namespaces/{{}}/structures"

WORKLOAD = ("status", "scale")
KINDS = {
    "configmaps": Kind("ConfigMap", "/api/v1/namespaces/{}/configmaps", "v1", configmaps),
    "services": Kind("Service", "/api/v1/namespaces/{}/services", "v1", services),
    "deployments": Kind(
        "Deployment",
        "/apis/apps/v1/namespaces/{}/deployments",
        "apps/v1",
        deployments,
        nothing | some(replicas=numbers, conditions=conditions),
        WORKLOAD,
    ),
    "statefulsets": Kind(
        "StatefulSet",
        "/apis/apps/v1/namespaces/{}/statefulsets",
        "apps/v1",
        statefulsets,
        nothing,
        WORKLOAD,
    ),
    "cronjobs": Kind(
        "CronJob",
        "/apis/batch/v1/namespaces/{}/cronjobs",
        "batch/v1",
        cronjobs,
        nothing,
        ("status",),
    ),
    "rolebindings": Kind(
        "RoleBinding",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
        "rbac.authorization.k8s.io/v1",
        rolebindings,
    ),
    "ingresses": Kind(
        "Ingress",
        "/apis/networking.k8s.io/v1/namespaces/{}/ingresses",
        "networking.k8s.io/v1",
        ingresses,
        nothing,
        ("status",),
    ),
    "horizontalpodautoscalers": Kind(
        "HorizontalPodAutoscaler",
        "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
        "autoscaling/v2",
        autoscalers,
        nothing,
        ("status",),
    ),
    "structures": Kind(
        "Structure",
        f"/apis/{GROUP}/VERSION/namespaces/{{}}/structures",
        f"{GROUP}/VERSION",
        structures,
        nothing | structure_statuses,
        WORKLOAD,
        ("v1", "v2"),
    ),
}
