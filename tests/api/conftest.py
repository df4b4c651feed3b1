"""The API servers of the behaviour suite: ours in process, ours over HTTPS, and the real one.

A test that takes `api` runs over all of them. Where ours is meant to differ, the test is listed in
`differences.py`, and then it must fail on ours: a difference that is gone has to leave the list.
"""

import itertools
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from atoll.wire import Wire
from testenv.cluster import Cluster

pytest.register_assert_rewrite("backends")

from backends import FIXTURES, OURS, Backend  # noqa: E402
from behind import behind  # noqa: E402
from differences import DIFFERENCES  # noqa: E402
from ours import Ours, running  # noqa: E402
from registering import SERVICES, TRUST, Fish, register_server, until  # noqa: E402
from transports import HttpBackend, ProcessBackend  # noqa: E402
from webhook_server import Register, WebhookServer, registered  # noqa: E402

EVERY = [*OURS, pytest.param("kubernetes", marks=pytest.mark.testenv)]

_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        reason = DIFFERENCES.get(plain_id(item.name))
        if reason and "kubernetes" not in re.split(r"[\[\]-]", item.name):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def plain_id(name: str) -> str:
    """A test's name with its own parameters, without the backend's."""
    names = "|".join(FIXTURES)
    return re.sub(rf"\[({names})\]|({names})-|-({names})(?=\])", "", name)


@pytest.fixture(scope="session", params=EVERY)
def api(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.getfixturevalue(FIXTURES[request.param])
    return found


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ours]:
    with running(tmp_path_factory.mktemp("ours")) as server:
        yield server


@pytest.fixture(scope="session")
def in_process(ours: Ours) -> ProcessBackend:
    return ProcessBackend(ours.handler, ours.loop)


@pytest.fixture(scope="session")
def https(ours: Ours) -> Iterator[HttpBackend]:
    backend = HttpBackend("https", ours.url, ours.authority, ours.pair)
    yield backend
    backend.forget()


@pytest.fixture(scope="session")
def real(kubernetes: Cluster) -> Iterator[HttpBackend]:
    pair = (kubernetes.administrator.certificate, kubernetes.administrator.key)
    backend = HttpBackend("kubernetes", kubernetes.url, kubernetes.authority, pair)
    yield backend
    backend.forget()


@pytest.fixture
def unique() -> str:
    """A name that no other test has."""
    return f"api-{next(_numbers)}"


@pytest.fixture
def namespace(api: Backend, unique: str) -> str:
    api.create("/api/v1/namespaces", {"metadata": {"name": unique}})
    return unique


@pytest.fixture
def configmaps(namespace: str) -> str:
    """The path of the ConfigMaps of a namespace that only this test has."""
    return f"/api/v1/namespaces/{namespace}/configmaps"


@pytest.fixture
def deployments(namespace: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/deployments"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebhookServer]:
    found = WebhookServer(tmp_path_factory.mktemp("webhooks"))
    yield found
    found.close()


@pytest.fixture
def register(api: Backend, server: WebhookServer, namespace: str) -> Register:
    api.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {"hooked": namespace}}})
    here = {"matchLabels": {"hooked": namespace}}

    def put_in_force(kind: str, *webhooks: Wire) -> AbstractContextManager[None]:
        limited = [{"namespaceSelector": here, **each} for each in webhooks]
        return registered(api, server, kind, f"{namespace}-{kind}", limited)

    return put_in_force


@pytest.fixture
def path(unique: str) -> str:
    """A path at the webhook server that no other test has."""
    return f"/{unique}"


@pytest.fixture
def unregister(api: Backend) -> Iterator[list[str]]:
    """Names of services that go when the test is over, lest they trouble the others."""
    names: list[str] = []
    yield names
    for name in names:
        api.request("DELETE", f"{SERVICES}/{name}")


@pytest.fixture
def fish(api: Backend, namespace: str, tmp_path: Path, unregister: list[str]) -> Iterator[Fish]:
    group = f"{namespace}.example.com"
    until(lambda: api.request("GET", TRUST).status == 200)
    front_ca = api.read(TRUST)["data"]["requestheader-client-ca-file"]
    with behind(tmp_path, group, "fish", namespace, front_ca) as server:
        register_server(api, server, namespace, unregister)
        yield Fish(server, group, namespace)
