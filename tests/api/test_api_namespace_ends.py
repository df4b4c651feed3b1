"""How a namespace goes: by itself when it is empty, and its content with it.

That is a controller's work, so it is tested where controllers run: on ours.
"""

import time

import pytest
from backends import FIXTURES, OURS, Backend
from manifests import configmap, deployment

NAMESPACES = "/api/v1/namespaces"


@pytest.fixture(params=OURS)
def api(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.getfixturevalue(FIXTURES[request.param])
    return found


def gone(api: Backend, path: str) -> bool:
    """Say if the object goes away, however slow the machine is."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if api.request("GET", path).status == 404:
            return True
        time.sleep(0.02)
    return False


def test_an_empty_namespace_goes_by_itself(api: Backend, unique: str) -> None:
    api.create(NAMESPACES, {"metadata": {"name": unique}})
    start = api.read(NAMESPACES)["metadata"]["resourceVersion"]
    path = f"{NAMESPACES}?watch=1&fieldSelector=metadata.name%3D{unique}&resourceVersion={start}"
    with api.watch(path) as watch:
        api.delete(f"{NAMESPACES}/{unique}")
        first = watch.next()
        last = watch.until(lambda event: event["type"] == "DELETED")
    assert first["object"]["status"]["phase"] == "Terminating"
    assert last["object"]["metadata"]["name"] == unique
    again = api.create(NAMESPACES, {"metadata": {"name": unique}})
    assert again["metadata"]["uid"] != last["object"]["metadata"]["uid"]


def test_a_namespace_takes_its_content_along(
    api: Backend, configmaps: str, deployments: str, unique: str
) -> None:
    api.create(configmaps, configmap("a"))
    api.create(deployments, deployment("web"))
    api.create(f"{NAMESPACES}/{unique}/secrets", {"metadata": {"name": "s"}})
    api.delete(f"{NAMESPACES}/{unique}")
    assert gone(api, f"{NAMESPACES}/{unique}")
    for path in (configmaps, deployments, f"{NAMESPACES}/{unique}/secrets"):
        assert api.read(path)["items"] == []


def test_what_holds_a_namespace_back_is_told_in_its_status(
    api: Backend, configmaps: str, unique: str
) -> None:
    held = configmap("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    api.create(configmaps, held)
    start = api.read(NAMESPACES)["metadata"]["resourceVersion"]
    path = f"{NAMESPACES}?watch=1&fieldSelector=metadata.name%3D{unique}&resourceVersion={start}"
    with api.watch(path) as watch:
        api.delete(f"{NAMESPACES}/{unique}")
        told = watch.until(lambda event: "conditions" in event["object"]["status"])
    conditions = {one["type"]: one for one in told["object"]["status"]["conditions"]}
    remaining = conditions["NamespaceContentRemaining"]
    assert (remaining["status"], remaining["reason"]) == ("True", "SomeResourcesRemain")
    assert "configmaps. has 1 resource instances" in remaining["message"]
    finalizers = conditions["NamespaceFinalizersRemaining"]
    assert (finalizers["status"], finalizers["reason"]) == ("True", "SomeFinalizersRemain")
    assert "example.com/hold in 1 resource instances" in finalizers["message"]
    api.patch(f"{configmaps}/held", {"metadata": {"finalizers": None}})
    assert gone(api, f"{NAMESPACES}/{unique}")
