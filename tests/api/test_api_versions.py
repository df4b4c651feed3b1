"""Several versions of one custom kind: what each shows, what is kept, and which are deprecated."""

import time

import pytest
from backends import Backend
from manifests import definition

from atoll.wire import Wire

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.fixture
def group(unique: str) -> str:
    return f"{unique}.example.com"


def serve(api: Backend, made: Wire) -> dict[str, str]:
    """Create a definition, wait until all its versions are served; their paths by version."""
    api.create(CRDS, made)
    group = made["spec"]["group"]
    roots = {one["name"]: f"/apis/{group}/{one['name']}" for one in made["spec"]["versions"]}
    deadline = time.monotonic() + 120
    for root in roots.values():
        while api.request("GET", f"{root}/things").status != 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    return roots


@pytest.fixture
def two(group: str) -> Wire:
    """A kind stored as v1, which names its fields; v2 takes any."""
    made = definition("Thing", group, {"type": "object", "properties": {"n": {"type": "integer"}}})
    v2 = {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": FREE}}
    made["spec"]["versions"].append(v2)
    return made


def test_what_the_stored_version_does_not_name_is_not_kept(
    api: Backend, two: Wire, group: str, namespace: str
) -> None:
    roots = serve(api, two)
    things = {name: f"{root}/namespaces/{namespace}/things" for name, root in roots.items()}
    thing = {
        "apiVersion": f"{group}/v2",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "spec": {"n": 1, "more": 2},
    }
    made = api.create(things["v2"], thing)
    assert made["spec"] == {"n": 1}
    assert api.read(f"{things['v1']}/a")["spec"] == {"n": 1}
    assert api.read(f"{things['v2']}/a")["spec"] == {"n": 1}


@pytest.mark.parametrize(
    ("said", "heard"), [({}, "{}/v2 Thing is deprecated"), ({"deprecationWarning": "no"}, "no")]
)
def test_a_deprecated_version_says_so(
    api: Backend, two: Wire, group: str, namespace: str, said: Wire, heard: str
) -> None:
    two["spec"]["versions"][1] |= {"deprecated": True, **said}
    roots = serve(api, two)
    expected = f'299 - "{heard.format(group)}"'
    path = f"namespaces/{namespace}/things"
    thing = {"apiVersion": f"{group}/v2", "kind": "Thing", "metadata": {"name": "a"}}
    assert api.request("POST", f"{roots['v2']}/{path}", body=thing).warnings == expected
    assert api.request("GET", f"{roots['v2']}/{path}/a").warnings == expected
    assert api.request("GET", f"{roots['v2']}/{path}/none").warnings == expected
    assert api.request("GET", f"{roots['v1']}/{path}/a").warnings == ""


def test_endpoints_are_deprecated(api: Backend, namespace: str) -> None:
    heard = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    answer = api.request("GET", f"/api/v1/namespaces/{namespace}/endpoints")
    assert (answer.status, answer.warnings) == (200, f'299 - "{heard}"')
