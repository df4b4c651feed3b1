"""History that is gone: watches and lists of a past the server no longer has.

Ours is started with a short memory; the real server forgets what was before a kind's cache began.
"""

import time
from collections.abc import Iterator

import pytest
from backends import Backend
from manifests import configmap, definition
from ours import running
from transports import HttpBackend

from atoll.store.history import Limits

EVENTS = 20
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpBackend]:
    """Ours, remembering the last few events only."""
    limits = Limits(history_events=EVENTS, slice_events=5)
    with running(tmp_path_factory.mktemp("forgetful"), limits) as ours:
        backend = HttpBackend("https", ours.url, ours.authority, ours.pair)
        yield backend
        backend.forget()


@pytest.fixture
def configmaps(forgetful: HttpBackend, unique: str) -> str:
    forgetful.create("/api/v1/namespaces", {"metadata": {"name": unique}})
    return f"/api/v1/namespaces/{unique}/configmaps"


def forget(backend: Backend, configmaps: str) -> None:
    """Write until the past is gone, and the compaction that follows has been done."""
    for number in range(4 * EVENTS):
        backend.patch(f"{configmaps}/a", {"data": {"n": str(number)}})


def check_expired(backend: Backend, path: str, version: str) -> None:
    with backend.watch(f"{path}?watch=1&resourceVersion={version}") as watch:
        assert watch.status == 200
        (event,) = watch.rest()
    status = event["object"]
    assert (event["type"], status["kind"], status["status"]) == ("ERROR", "Status", "Failure")
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"].startswith(f"too old resource version: {version} (")


@pytest.mark.testenv
def test_the_real_server_ends_a_watch_of_a_forgotten_past(real: HttpBackend, unique: str) -> None:
    group = f"{unique}.example.com"
    real.create(CRDS, definition("Thing", group, {"type": "object"}))
    path = f"/apis/{group}/v1/things"
    deadline = time.monotonic() + 120
    while real.request("GET", path).status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    check_expired(real, path, "1")
    real.delete(f"{CRDS}/things.{group}")


def test_a_watch_of_a_forgotten_past_ends_with_an_error(
    forgetful: HttpBackend, configmaps: str
) -> None:
    made = forgetful.create(configmaps, configmap("a"))
    forget(forgetful, configmaps)
    check_expired(forgetful, configmaps, made["metadata"]["resourceVersion"])


def test_a_list_of_a_forgotten_past_is_refused(forgetful: HttpBackend, configmaps: str) -> None:
    made = forgetful.create(configmaps, configmap("a"))
    forget(forgetful, configmaps)
    version = made["metadata"]["resourceVersion"]
    answer = forgetful.request(
        "GET", f"{configmaps}?resourceVersion={version}&resourceVersionMatch=Exact"
    )
    message = "The resourceVersion for the provided list is too old."
    answer.refusal(410, "Expired", message)


def test_a_page_of_a_forgotten_past_offers_to_go_on_in_the_present(
    forgetful: HttpBackend, configmaps: str
) -> None:
    for name in "abc":
        forgetful.create(configmaps, configmap(name))
    first = forgetful.read(f"{configmaps}?limit=1")
    forget(forgetful, configmaps)
    answer = forgetful.request(
        "GET", f"{configmaps}?limit=1&continue={first['metadata']['continue']}"
    )
    status = answer.json()
    assert (answer.status, status["reason"]) == (410, "Expired")
    assert status["message"].startswith(
        "The provided continue parameter is too old to display a consistent list result."
    )
    rest = forgetful.read(f"{configmaps}?continue={status['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c"]
