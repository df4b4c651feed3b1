"""Garbage collection: what follows its owner, what is left behind.

Tested where a collector runs, on ours: the real kube-apiserver alone has none.
"""

import time

import pytest
from backends import FIXTURES, OURS, Backend
from manifests import configmap

from atoll.wire import Wire


@pytest.fixture(params=OURS)
def api(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.getfixturevalue(FIXTURES[request.param])
    return found


def owned(name: str, *owners: Wire, blocking: bool = False) -> Wire:
    made = configmap(name)
    made["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            **({"blockOwnerDeletion": True} if blocking else {}),
        }
        for owner in owners
    ]
    return made


def wait_for(api: Backend, path: str, names: list[str]) -> list[str]:
    """The names in the collection, as soon as they are these, or when patience ends."""
    deadline = time.monotonic() + 120
    while True:
        found = [item["metadata"]["name"] for item in api.read(path)["items"]]
        if found == names or time.monotonic() > deadline:
            return found
        time.sleep(0.02)


def settle(api: Backend, configmaps: str) -> None:
    """Let the collector do some other work, so that it had its chance."""
    probe = api.create(configmaps, configmap("probe"))
    api.create(configmaps, owned("probe-child", probe))
    api.delete(f"{configmaps}/probe")
    deadline = time.monotonic() + 120
    while api.request("GET", f"{configmaps}/probe-child").status == 200:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_dependents_follow_their_owner_in_the_background(api: Backend, configmaps: str) -> None:
    owner = api.create(configmaps, configmap("owner"))
    child = api.create(configmaps, owned("child", owner))
    api.create(configmaps, owned("grandchild", child))
    api.create(configmaps, configmap("other"))
    status = api.delete(f"{configmaps}/owner", {"propagationPolicy": "Background"})
    assert status["status"] == "Success"
    assert wait_for(api, configmaps, ["other"]) == ["other"]


def test_a_dependent_of_two_owners_stays_with_the_second(api: Backend, configmaps: str) -> None:
    first = api.create(configmaps, configmap("first"))
    second = api.create(configmaps, configmap("second"))
    api.create(configmaps, owned("child", first, second))
    api.delete(f"{configmaps}/first")
    settle(api, configmaps)
    child = api.read(f"{configmaps}/child")
    assert [one["name"] for one in child["metadata"]["ownerReferences"]] == ["second"]
    api.delete(f"{configmaps}/second")
    assert wait_for(api, configmaps, []) == []


def test_in_the_foreground_dependents_go_first(api: Backend, configmaps: str) -> None:
    owner = api.create(configmaps, configmap("owner"))
    held = owned("child", owner, blocking=True)
    held["metadata"]["finalizers"] = ["example.com/hold"]
    api.create(configmaps, held)
    ending = api.delete(f"{configmaps}/owner", {"propagationPolicy": "Foreground"})
    assert ending["metadata"]["finalizers"] == ["foregroundDeletion"]
    settle(api, configmaps)
    assert api.read(f"{configmaps}/child")["metadata"]["deletionTimestamp"]
    assert api.read(f"{configmaps}/owner")["metadata"]["deletionTimestamp"]
    api.patch(f"{configmaps}/child", {"metadata": {"finalizers": None}})
    assert wait_for(api, configmaps, []) == []


def test_an_owner_without_dependents_goes_in_the_foreground_too(
    api: Backend, configmaps: str
) -> None:
    api.create(configmaps, configmap("owner"))
    api.delete(f"{configmaps}/owner", {"propagationPolicy": "Foreground"})
    assert wait_for(api, configmaps, []) == []


def test_orphans_stay_and_forget_their_owner(api: Backend, configmaps: str) -> None:
    owner = api.create(configmaps, configmap("owner"))
    api.create(configmaps, owned("child", owner))
    api.delete(f"{configmaps}/owner", {"propagationPolicy": "Orphan"})
    assert wait_for(api, configmaps, ["child"]) == ["child"]
    settle(api, configmaps)
    assert "ownerReferences" not in api.read(f"{configmaps}/child")["metadata"]


def test_a_dependent_of_an_owner_that_never_was_goes(api: Backend, configmaps: str) -> None:
    ghost = {"metadata": {"name": "ghost", "uid": "00000000-0000-4000-8000-000000000000"}}
    api.create(configmaps, owned("child", ghost))
    assert wait_for(api, configmaps, []) == []


def test_an_owner_of_the_same_name_but_another_uid_is_no_owner(
    api: Backend, configmaps: str
) -> None:
    owner = api.create(configmaps, configmap("owner"))
    api.create(configmaps, owned("child", owner))
    api.delete(f"{configmaps}/owner", {"propagationPolicy": "Background"})
    api.create(configmaps, configmap("owner"))
    assert wait_for(api, configmaps, ["owner"]) == ["owner"]


def test_a_namespaced_owner_counts_in_its_namespace_only(
    api: Backend, configmaps: str, unique: str
) -> None:
    other = f"{unique}-x"
    api.create("/api/v1/namespaces", {"metadata": {"name": other}})
    far = f"/api/v1/namespaces/{other}/configmaps"
    owner = api.create(far, configmap("owner"))
    api.create(configmaps, owned("child", owner))
    assert wait_for(api, configmaps, []) == []
    assert api.read(f"{far}/owner") == owner


def test_a_ring_of_owners_goes_in_the_foreground(api: Backend, configmaps: str) -> None:
    first = api.create(configmaps, configmap("first"))
    second = api.create(configmaps, owned("second", first, blocking=True))
    references = owned("first", second, blocking=True)["metadata"]["ownerReferences"]
    api.patch(f"{configmaps}/first", {"metadata": {"ownerReferences": references}})
    api.delete(f"{configmaps}/first", {"propagationPolicy": "Foreground"})
    assert wait_for(api, configmaps, []) == []
