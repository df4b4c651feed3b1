"""Whatever is sent, the server answers with a proper Status, and goes on serving others.

Requests are made of pieces that come close to meaning something: real paths and names beside odd
ones, objects of the right kind with parts replaced by anything, patches of the right form.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atoll.effects import Chance, Effects, system_now
from atoll.exchange import Peer, Request, Response
from atoll.main import Plane, build, run
from atoll.store.memory import MemoryLog

ADMIN = Peer("fuzz", ("system:masters",))

LABELS = {"app": "web"}
CONTAINER = {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [{"name": "E"}]}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}}
SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
}
OBJECTS: dict[str, dict[str, Any]] = {
    "/api/v1/namespaces": {"metadata": {"name": "n", "labels": {"a": "b"}}},
    "/api/v1/namespaces/default/configmaps": {"metadata": {"name": "n"}, "data": {"a": "b"}},
    "/api/v1/namespaces/default/secrets": {"metadata": {"name": "n"}, "data": {"a": "YQ=="}},
    "/api/v1/namespaces/default/services": {
        "metadata": {"name": "n"},
        "spec": {"ports": [{"port": 80, "targetPort": "http"}], "selector": LABELS},
    },
    "/api/v1/namespaces/default/pods": {"metadata": {"name": "n"}, "spec": TEMPLATE["spec"]},
    "/api/v1/namespaces/default/events": {
        "metadata": {"name": "n"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
    },
    "/apis/apps/v1/namespaces/default/deployments": {
        "metadata": {"name": "n", "finalizers": ["a/b"], "ownerReferences": []},
        "spec": {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": TEMPLATE},
    },
    "/apis/batch/v1/namespaces/default/jobs": {
        "metadata": {"name": "n"},
        "spec": {"template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}},
    },
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": {
        "metadata": {"name": "n"},
        "spec": {"holderIdentity": "me", "renewTime": "2026-01-01T00:00:00.000000Z"},
    },
    "/apis/rbac.authorization.k8s.io/v1/clusterroles": {
        "metadata": {"name": "n"},
        "rules": [{"verbs": ["get"], "resources": ["pods"], "apiGroups": [""]}],
    },
    "/apis/events.k8s.io/v1/namespaces/default/events": {
        "metadata": {"name": "n"},
        "regarding": {"kind": "Pod"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
    },
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {
        "metadata": {"name": "widgets.ex.io"},
        "spec": {
            "group": "ex.io",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": SCHEMA},
                    "subresources": {"status": {}},
                }
            ],
        },
    },
    "/apis/ex.io/v1/namespaces/default/widgets": {
        "apiVersion": "ex.io/v1",
        "kind": "Widget",
        "metadata": {"name": "n"},
        "spec": {"size": 1},
    },
}

texts = st.sampled_from(["", "n", "a/b", "default", "../x", "ü", "9" * 70, "-1", "null", "\u0000"])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths_in(item, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@st.composite
def bodies(draw: st.DrawFn, collection: str) -> Any:
    """An object of the collection's kind with up to three parts replaced by anything."""
    body: Any = OBJECTS[collection]
    for _ in range(draw(st.integers(0, 3))):
        if isinstance(body, dict | list):
            body = replaced(body, draw(st.sampled_from(list(paths_in(body)))), draw(values))
    return body


operations = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"]),
        "path": st.sampled_from(["", "/", "/spec", "/metadata/labels/a", "/spec/template/spec/-"]),
    },
    optional={"value": values, "from": st.sampled_from(["", "/spec", "/metadata/name"])},
)
QUERIES = st.lists(
    st.sampled_from(
        [
            "dryRun=All",
            "fieldManager=m",
            "fieldValidation=Strict",
            "force=true",
            "limit=1",
            "continue=e30",
            "resourceVersion=1",
            "resourceVersion=x",
            "resourceVersionMatch=Exact",
            "labelSelector=a%3Db,c+in+(d)",
            "labelSelector=((",
            "fieldSelector=metadata.name%3Dn",
            "fieldSelector=a",
            "propagationPolicy=Foreground",
            "gracePeriodSeconds=0",
            "pretty=1",
            "includeObject=Object",
            "timeout=1s",
        ]
    ),
    max_size=3,
    unique=True,
)
ACCEPTS = st.sampled_from(
    [
        "",
        "application/json",
        "application/yaml",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "text/html",
    ]
)
PATCHES = [
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
]


@st.composite
def requests(draw: st.DrawFn) -> Request:
    collection = draw(st.sampled_from(sorted(OBJECTS)))
    method = draw(
        st.sampled_from(["GET", "POST", "POST", "PUT", "PATCH", "PATCH", "DELETE", "HEAD"])
    )
    headers = {"accept": draw(ACCEPTS), "user-agent": draw(st.sampled_from(["", "fuzz/1", "curl"]))}
    path, body = collection, draw(bodies(collection))
    name = draw(
        st.sampled_from(["n", "n", "n", "widgets.ex.io", "%2e%2e", "a%2Fb", "%ff", "x" * 300])
    )
    if method not in ("POST", "GET") or draw(st.booleans()):
        path += f"/{name}" + draw(
            st.sampled_from(["", "", "", "/status", "/scale", "/x", "/status/y"])
        )
    if method == "PATCH":
        headers["content-type"] = draw(st.sampled_from([*PATCHES, "application/json-patch+json"]))
        if headers["content-type"] == "application/json-patch+json":
            body = draw(st.lists(operations, max_size=3))
    if method == "DELETE":
        body = draw(st.none() | st.just({"propagationPolicy": "Orphan"}) | values)
    encoded = b"" if body is None else json.dumps(body).encode()
    return Request(method, path, "&".join(draw(QUERIES)), headers, encoded, ADMIN)


@pytest.fixture(scope="module")
def server() -> Iterator["Server"]:
    with asyncio.Runner() as runner:
        running = Server(runner)
        yield running
        running.stop()


class Server:
    """An API server in this process that lives as long as the tests of this file."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner
        self._stack = AsyncExitStack()
        self._plane = runner.run(self._start())

    async def _start(self) -> Plane:
        effects = Effects(now=system_now, chance=Chance("fuzz"))
        plane = build(effects, MemoryLog())
        await run(plane, effects, self._stack)
        return plane

    def stop(self) -> None:
        self._runner.run(self._stack.aclose())

    def answer(self, request: Request) -> Response:
        return self._runner.run(self._plane.server.handle(request))


def check_answer(request: Request, response: Response) -> None:
    """Never a failure of ours, and always a body that says what it is."""
    if response.status >= 400 and response.headers["Content-Type"] == "application/json":
        status = json.loads(response.body)
        assert (status["kind"], status["code"]) == ("Status", response.status)
        assert status.get("reason") != "InternalError", (request, status["message"])
    elif response.stream is None and response.headers["Content-Type"] == "application/json":
        said = json.loads(response.body)
        assert said.get("kind") or (request.path == "/" and said["paths"]), request


@settings(max_examples=600, suppress_health_check=[HealthCheck.too_slow])
@given(sent=st.lists(requests(), min_size=1, max_size=6))
def test_no_request_makes_the_server_fail(server: Server, sent: list[Request]) -> None:
    for request in sent:
        check_answer(request, server.answer(request))


@settings(max_examples=300)
@given(
    path=st.text("/.%abp0 ?#\\", max_size=20).map("/".__add__),
    query=st.text("&=%abw1+;", max_size=20),
    body=st.binary(max_size=40),
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"]),
)
def test_no_bytes_make_the_server_fail(
    server: Server, path: str, query: str, body: bytes, method: str
) -> None:
    for prefix in ("", "/api/v1/namespaces/default/configmaps", "/apis/apps/v1"):
        request = Request(method, prefix + path, query, {}, body, ADMIN)
        check_answer(request, server.answer(request))


def test_a_thousand_levels_of_nesting_are_refused(server: Server) -> None:
    collection = "/api/v1/namespaces/default/configmaps"
    for body in (b'{"data":' * 100_000 + b"}" * 100_000, b"[" * 100_000, b"a: &a [*a]\n"):
        request = Request("POST", collection, "", {}, body, ADMIN)
        assert server.answer(request).status == 400
