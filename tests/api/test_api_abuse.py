"""What one tenant does to the server, another must not feel: both over real sockets."""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import yaml
from backends import Answer
from manifests import configmap
from ours import Ours
from streams import Watch
from transports import HttpBackend

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ITEMS, ITEM_BYTES = 24, 60_000


class Tenant:
    """A service account that may edit one namespace, with connections of its own."""

    def __init__(self, https: HttpBackend, namespace: str, name: str) -> None:
        self.configmaps = f"/api/v1/namespaces/{namespace}/configmaps"
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        https.create(accounts, {"metadata": {"name": name}})
        review = {"spec": {"expirationSeconds": 3600}}
        token = https.create(f"{accounts}/{name}/token", review)["status"]["token"]
        https.create(
            f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
            {
                "metadata": {"name": name},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit",
                },
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
            },
        )  # fmt: skip
        self.headers = {"authorization": f"Bearer {token}"}
        self._backend = HttpBackend(name, https.url, https.authority, https.pair)
        self._backend._tls = self._backend._anonymous  # a certificate would come before the token

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        sent = {**self.headers, **headers}
        return self._backend.request(method, path, body=body, headers=sent)

    def watch(self) -> Watch:
        return self._backend.open(f"{self.configmaps}?watch=true", self.headers)

    def forget(self) -> None:
        self._backend.forget()


@pytest.fixture
def tenants(https: HttpBackend, unique: str) -> Iterator[tuple[Tenant, Tenant]]:
    both = []
    for name in ("greedy", "modest"):
        namespace = f"{unique}-{name}"
        https.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        both.append(Tenant(https, namespace, name))
    yield both[0], both[1]
    for tenant in both:
        tenant.forget()


@contextmanager
def flooded(tenant: Tenant, ask: Any, threads: int = 12) -> Iterator[list[int]]:
    """Ask as this tenant without a pause, on many connections; gives what is answered."""
    stop, codes = threading.Event(), []

    def work() -> None:
        try:
            while not stop.is_set():
                codes.append(ask(tenant).status)
        finally:
            tenant.forget()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    try:
        yield codes
    finally:
        stop.set()
        for worker in workers:
            worker.join()


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_one_tenants_flood_leaves_another_answered(
    tenants: tuple[Tenant, Tenant], method: str
) -> None:
    greedy, modest = tenants
    body = {"metadata": {"generateName": "x-"}} if method == "POST" else None
    with flooded(greedy, lambda tenant: tenant.ask(method, tenant.configmaps, body)) as codes:
        for number in range(10):
            made = modest.ask("POST", modest.configmaps, configmap(f"a-{number}"))
            assert made.status == 201
            assert modest.ask("GET", f"{modest.configmaps}/a-{number}").status == 200
    assert set(codes) <= {200, 201, 429}
    assert codes


@pytest.fixture(scope="module")
def large(https: HttpBackend) -> str:
    """The path of a list of several megabytes."""
    https.create("/api/v1/namespaces", {"metadata": {"name": "large-lists"}})
    path = "/api/v1/namespaces/large-lists/configmaps"
    for number in range(ITEMS):
        https.create(path, configmap(f"c-{number:03}", text="line: 1\n" * (ITEM_BYTES // 8)))
    return f"{path}?labelSelector=!none"


@pytest.mark.parametrize("accept", ["application/json", "application/yaml", TABLE])
@pytest.mark.parametrize("query", ["", "&pretty=true"], ids=["compact", "pretty"])
def test_a_list_in_pieces_is_the_same_list(
    https: HttpBackend, large: str, accept: str, query: str
) -> None:
    def read(path: str) -> Any:
        answer = https.request("GET", path, headers={"accept": accept})
        assert answer.status == 200
        if accept == "application/yaml":
            return yaml.load(answer.body, yaml.CSafeLoader)
        found = answer.json()
        for row in found.get("rows", []):
            row["cells"].pop()  # it grows older
        return found

    key = "rows" if accept == TABLE else "items"
    whole = read(large + query)
    pages = [read(f"{large}{query}&limit=1")]
    while rest := pages[-1]["metadata"].get("continue"):
        pages.append(read(f"{large}{query}&limit=1&continue={rest}"))
    assert [item for page in pages for item in page[key]] == whole[key]
    assert whole.keys() == pages[0].keys()
    assert len([item for item in whole[key] if "c-0" in json.dumps(item)]) == ITEMS


def test_a_list_in_pieces_is_compressed_for_who_wants_that(https: HttpBackend, large: str) -> None:
    answer = https.request("GET", large, headers={"accept-encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert len(answer.body) < ITEMS * ITEM_BYTES / 10


def test_readers_that_stop_in_the_middle_of_lists_leave_others_answered(
    https: HttpBackend, large: str, tenants: tuple[Tenant, Tenant]
) -> None:
    with ExitStack() as stack:
        for _ in range(20):
            stalled = https._connect(https._tls)
            stack.callback(stalled.close)
            stalled.request("GET", large)
        assert tenants[1].ask("GET", tenants[1].configmaps).status == 200


def test_one_user_may_have_so_many_watches_and_no_more(
    ours: Ours, tenants: tuple[Tenant, Tenant], https: HttpBackend
) -> None:
    watches = ours.handler.__self__.api.watches  # type: ignore[attr-defined]
    before, watches.per_user_max = watches.per_user_max, 3
    greedy, modest = tenants
    try:
        with ExitStack() as stack:
            opened = [greedy.watch() for _ in range(3)]
            for watch in opened:
                stack.callback(watch.close)
                assert watch.status == 200
            late = greedy.ask("GET", f"{greedy.configmaps}?watch=true")
            late.refusal(429, "TooManyRequests", "Too many requests, please try again later.")
            assert late.headers["retry-after"] == "1"
            stack.enter_context(https.watch(f"{greedy.configmaps}?watch=true"))
            other = modest.watch()
            stack.callback(other.close)
            assert other.status == 200
    finally:
        watches.per_user_max = before


def _patch_bomb() -> list[Any]:
    """Each step doubles what the one before made."""
    steps: list[Any] = [{"op": "add", "path": "/data/a", "value": "x" * 1000}]
    for number in range(30):
        steps.append({"op": "copy", "from": "/data", "path": f"/metadata/annotations/{number}"})
        steps.append({"op": "copy", "from": "/metadata", "path": "/data/a"})
    return steps


DEEP = b'{"metadata":{"name":"a"},"data":' + b'{"a":' * 20_000 + b"1" + b"}" * 20_001
BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%b]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(9)
)


@pytest.mark.parametrize(
    ("method", "path", "content_type", "body"),
    [
        ("PATCH", "/kube-root-ca.crt", "application/json-patch+json", _patch_bomb()),
        ("POST", "", "application/json", DEEP),
        ("POST", "", "application/yaml", BOMB),
        ("POST", "", "application/json", b'{"metadata":{"generation":1' + b"0" * 100_000 + b"}}"),
        ("GET", "?labelSelector=" + ",".join(f"k{n}!=v" for n in range(3000)), "", None),
        ("GET", "?labelSelector=a+in+(" + ",".join(f"v{n}" for n in range(5000)) + ")", "", None),
    ],
    ids=["copies", "nesting", "aliases", "a long number", "many selectors", "many values"],
)  # fmt: skip
def test_what_would_explode_is_refused_or_done(
    tenants: tuple[Tenant, Tenant], method: str, path: str, content_type: str, body: Any
) -> None:
    greedy, modest = tenants
    headers = {"content-type": content_type} if content_type else {}
    answer = greedy.ask(method, greedy.configmaps + path, body, **headers)
    assert answer.status in (200, 400, 404, 413, 422), answer.body[:300]
    assert answer.json()["kind"] in ("Status", "ConfigMapList")
    assert modest.ask("GET", modest.configmaps).status == 200
