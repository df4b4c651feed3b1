"""Conversion webhooks of custom resources: every version shows every object, whatever is stored."""

import time
from collections.abc import Iterator

import pytest
from backends import Backend
from webhook_server import WebhookServer

from atoll.wire import Wire

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
READY_S = 120.0


def version(name: str, *, storage: bool = False) -> Wire:
    host = {"type": "object", "properties": {"spec": OPEN}}
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": host},
        "subresources": {"status": {}},
    }


def stalls(group: str, conversion: Wire) -> Wire:
    return {
        "metadata": {"name": f"stalls.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "stalls", "kind": "Stall", "shortNames": []},
            "versions": [version("v1", storage=True), version("v2")],
            "conversion": conversion,
        },
    }


def by_webhook(server: WebhookServer, path: str) -> Wire:
    webhook = {"clientConfig": server.client(path), "conversionReviewVersions": ["v1"]}
    return {"strategy": "Webhook", "webhook": webhook}


def renamed(request: Wire) -> Wire:
    """Version 1 has `spec.hostPort`, version 2 `spec.host` and `spec.port`."""
    wanted = request["desiredAPIVersion"]
    objects = []
    for obj in request["objects"]:
        spec = dict(obj.get("spec") or {})
        if wanted.endswith("/v2"):
            host, _, port = spec.pop("hostPort", ":").partition(":")
            spec |= {"host": host, "port": port}
        else:
            spec["hostPort"] = f"{spec.pop('host', '')}:{spec.pop('port', '')}"
        meta = {**obj["metadata"], "labels": {"converted": "yes"}, "generation": 99}
        objects.append({**obj, "apiVersion": wanted, "metadata": meta, "spec": spec})
    return {"convertedObjects": objects, "result": {"status": "Success"}}


@pytest.fixture
def group(api: Backend, server: WebhookServer, unique: str) -> Iterator[str]:
    """A group with Stalls in two versions, converted by the webhook at its own path."""
    name = f"{unique}.example.io"
    server.says[f"/{name}"] = renamed
    api.create(CRDS, stalls(name, by_webhook(server, f"/{name}")))
    deadline = time.monotonic() + READY_S
    while api.request("GET", f"/apis/{name}/v2/stalls").status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield name
    server.says[f"/{name}"] = renamed
    api.delete(f"{CRDS}/stalls.{name}")


def place(group: str, version: str, namespace: str) -> str:
    return f"/apis/{group}/{version}/namespaces/{namespace}/stalls"


def stall(group: str, version: str, name: str, **spec: str) -> Wire:
    head = {"apiVersion": f"{group}/{version}", "kind": "Stall"}
    return {**head, "metadata": {"name": name}, "spec": spec}


def test_an_object_is_shown_in_every_version(
    api: Backend, server: WebhookServer, group: str, namespace: str
) -> None:
    v1, v2 = place(group, "v1", namespace), place(group, "v2", namespace)
    made = api.create(v1, stall(group, "v1", "a", hostPort="localhost:80"))
    shown = api.read(f"{v2}/a")
    assert shown["apiVersion"] == f"{group}/v2"
    assert shown["spec"] == {"host": "localhost", "port": "80"}
    # Of metadata, a conversion may change labels and annotations only.
    assert shown["metadata"]["labels"] == {"converted": "yes"}
    assert shown["metadata"]["generation"] == made["metadata"]["generation"]
    assert shown["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    review = server.reviews[f"/{group}"][-1]
    assert review["apiVersion"] == "apiextensions.k8s.io/v1"
    assert review["kind"] == "ConversionReview"
    assert review["request"]["desiredAPIVersion"] == f"{group}/v2"
    assert [one["apiVersion"] for one in review["request"]["objects"]] == [f"{group}/v1"]


def test_an_object_is_written_in_any_version(api: Backend, group: str, namespace: str) -> None:
    v1, v2 = place(group, "v1", namespace), place(group, "v2", namespace)
    made = api.create(v2, stall(group, "v2", "a", host="localhost", port="80"))
    assert made["spec"] == {"host": "localhost", "port": "80"}
    assert api.read(f"{v1}/a")["spec"] == {"hostPort": "localhost:80"}
    api.patch(f"{v2}/a", {"spec": {"port": "90"}})
    assert api.read(f"{v1}/a")["spec"] == {"hostPort": "localhost:90"}
    changed = api.read(f"{v2}/a") | {"spec": {"host": "other", "port": "1"}}
    api.update(f"{v2}/a", changed)
    assert api.read(f"{v1}/a")["spec"] == {"hostPort": "other:1"}
    api.delete(f"{v2}/a")
    assert api.request("GET", f"{v1}/a").status == 404


def test_lists_and_watches_are_converted(api: Backend, group: str, namespace: str) -> None:
    v1, v2 = place(group, "v1", namespace), place(group, "v2", namespace)
    for name in "abc":
        api.create(v1, stall(group, "v1", name, hostPort=f"{name}:80"))
    listed = api.read(v2)
    assert [one["spec"]["host"] for one in listed["items"]] == ["a", "b", "c"]
    revision = listed["metadata"]["resourceVersion"]
    with api.watch(f"{v2}?watch=true&resourceVersion={revision}") as watch:
        api.create(v1, stall(group, "v1", "d", hostPort="d:80"))
        api.delete(f"{v1}/a")
        events = [watch.next(), watch.next()]
    assert [(one["type"], one["object"]["spec"]["host"]) for one in events] == [
        ("ADDED", "d"),
        ("DELETED", "a"),
    ]
    assert {one["object"]["apiVersion"] for one in events} == {f"{group}/v2"}


def test_what_is_stored_in_an_older_version_is_converted_too(
    api: Backend, group: str, namespace: str
) -> None:
    v1, v2 = place(group, "v1", namespace), place(group, "v2", namespace)
    api.create(v1, stall(group, "v1", "a", hostPort="a:80"))
    versions = [version("v1"), version("v2", storage=True)]
    changed = api.patch(f"{CRDS}/stalls.{group}", {"spec": {"versions": versions}})
    deadline = time.monotonic() + READY_S
    while changed["status"]["storedVersions"] != ["v1", "v2"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
        changed = api.read(f"{CRDS}/stalls.{group}")
    assert api.read(f"{v2}/a")["spec"] == {"host": "a", "port": "80"}
    assert api.read(f"{v1}/a")["spec"] == {"hostPort": "a:80"}
    api.patch(f"{v1}/a", {"spec": {"hostPort": "b:80"}})
    assert api.read(f"{v2}/a")["spec"] == {"host": "b", "port": "80"}


BAD: list[tuple[Wire, str]] = [
    ({"result": {"status": "Failure", "message": "no idea"}}, "failed: no idea"),
    (
        {"result": {"status": "Odd"}},
        "failed: response.result.status was 'Odd', not 'Success'",
    ),
    (
        {"result": {"status": "Success"}, "convertedObjects": []},
        "returned 0 objects, expected 1",
    ),
    (
        {"status-code": 500, "body": "ouch"},
        'failed: an error on the server ("ouch") has prevented the request from succeeding',
    ),
]


def test_a_conversion_that_fails_is_told(
    api: Backend, server: WebhookServer, group: str, namespace: str
) -> None:
    v1, v2 = place(group, "v1", namespace), place(group, "v2", namespace)
    for index, (said, told) in enumerate(BAD):
        name = f"a{index}"
        api.create(v1, stall(group, "v1", name, hostPort="a:80"))
        server.says[f"/{group}"] = lambda _, said=said: said
        answer = api.request("GET", f"{v2}/{name}")
        about = f"conversion webhook for {group}/v1, Kind=Stall"
        answer.refusal(500, None, f"{about} {told}")
        server.says[f"/{group}"] = renamed


def test_a_conversion_may_not_change_who_an_object_is(
    api: Backend, server: WebhookServer, group: str, namespace: str
) -> None:
    v1, v2 = place(group, "v1", namespace), place(group, "v2", namespace)
    api.create(v1, stall(group, "v1", "a", hostPort="a:80"))

    def other(request: Wire) -> Wire:
        converted = renamed(request)
        converted["convertedObjects"][0]["metadata"]["name"] = "b"
        return converted

    server.says[f"/{group}"] = other
    about = f"conversion webhook for {group}/v1, Kind=Stall returned invalid object"
    api.request("GET", f"{v2}/a").refusal(500, None, f"{about}: must have the same name: a != b")


WAY = "spec.conversion.webhookClientConfig"
MISTAKES: dict[str, tuple[Wire, list[str]]] = {
    "no webhook": (
        {"strategy": "Webhook"},
        [WAY, "spec.conversion.conversionReviewVersions"],
    ),
    "no way": (
        {"strategy": "Webhook", "webhook": {"clientConfig": {}, "conversionReviewVersions": ["x"]}},
        [WAY, "spec.conversion.conversionReviewVersions"],
    ),
    "a webhook for nothing": (
        {
            "strategy": "None",
            "webhook": {
                "clientConfig": {"url": "https://a.example.io"},
                "conversionReviewVersions": ["v1"],
            },
        },
        [WAY, "spec.conversion.conversionReviewVersions"],
    ),
}


@pytest.mark.parametrize(("conversion", "told"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_in_conversions_are_told(
    api: Backend, unique: str, conversion: Wire, told: list[str]
) -> None:
    body = stalls(f"{unique}.example.io", conversion)
    details = api.request("POST", CRDS, body=body).refusal(422, "Invalid")
    assert [cause["field"] for cause in details["causes"]] == told
