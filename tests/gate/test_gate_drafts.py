"""What a gate drafts is what the core would have made itself, to the byte, or it is nothing.

Two servers are asked the same; one of them gets the drafts of a gate beside the requests. The
objects are those that a real kube-apiserver was asked to make, of every kind there is, and the same
with parts of them replaced by anything.
"""

import asyncio
import json
import random
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atoll.apiserver.gate.drafting import (
    DRAFTED_BYTES_MAX,
    TRIED_AGAIN,
    VAIN_MAX,
    Drafter,
)
from atoll.effects import Chance, Effects
from atoll.exchange import Peer, Request, Response
from atoll.main import Plane, build
from atoll.runtime.supervisor import Supervisor
from atoll.store.memory import MemoryLog

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
EFFECTS = Effects(now=lambda: NOW, chance=Chance("gate"))
ADMIN = Peer("tester", ("system:masters",))
CONFIGMAPS = "/api/v1/namespaces/demo/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/demo/deployments"
SAMPLES = [
    each
    for each in yaml.safe_load_all(
        Path(__file__).parents[1].joinpath("kinds/samples.yaml").read_text()
    )
    if each
]
ODD: tuple[Any, ...] = (None, True, 0, -1, 2.5, "", "x", "A_", "a/b", "9" * 70, [], {}, ["x"])
ODD += ({"a": "b"}, {"name": "n"}, [{"name": "n"}, {"name": "n"}], "2020-01-01T00:00:00Z", "1Gi")


def configmap(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, **more}


def post(path: str, body: Any, query: str = "fieldManager=tests", **headers: str) -> Request:
    return Request("POST", path, query, headers, json.dumps(body).encode(), ADMIN)


class Server:
    """An API server in this process."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner
        self._stack = AsyncExitStack()
        self.plane: Plane = runner.run(self._start())

    async def _start(self) -> Plane:
        effects = Effects(now=lambda: NOW, chance=Chance("server"))
        plane = build(effects, MemoryLog())
        keeper = await self._stack.enter_async_context(Supervisor("store", effects.chance))
        keeper.start("commits", plane.store.run)
        await plane.server.start()  # nobody keeps house: what is made stays as it was made
        namespace = {"metadata": {"name": "demo"}}
        assert (await plane.server.handle(post("/api/v1/namespaces", namespace))).status == 201
        return plane

    def ask(self, request: Request) -> Response:
        return self._runner.run(self.plane.server.handle(request))

    def stop(self) -> None:
        self._runner.run(self._stack.aclose())


class Pair:
    """A server that is asked, and one that gets drafts as well."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self.plain, self.drafted = Server(runner), Server(runner)

    def same(self, request: Request) -> tuple[Response, bool]:
        """The answer, which is the same from both; and whether a draft was what was stored."""
        draft = Drafter(EFFECTS).draft(request)
        expected = self.plain.ask(request)
        answer = self.drafted.ask(replace(request, draft=draft))
        assert answer.status == expected.status, (answer.body, expected.body)
        assert _told(answer) == _told(expected)
        assert answer.headers.get("Warning") == expected.headers.get("Warning")
        assert answer.headers["Content-Type"] == expected.headers["Content-Type"]
        taken = draft is not None and answer.body.startswith(draft.head)
        assert not taken or answer.body.endswith(draft.tail)
        return answer, taken


def _told(response: Response) -> bytes:
    """An answer, but for what two servers never have in common."""
    uid = (json.loads(response.body).get("metadata") or {}).get("uid") or "none"
    return re.sub(rb'"resourceVersion": ?"\d+"', b"", response.body.replace(uid.encode(), b"uid"))


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with asyncio.Runner() as runner:
        both = Pair(runner)
        yield both
        both.plain.stop()
        both.drafted.stop()


# Kinds of which somebody in the server changes every new object.
CHANGED = {"CustomResourceDefinition", "CertificateSigningRequest", "Ingress", "Node", "Pod"}
CHANGED |= {"PersistentVolumeClaim", "Service"}
# Kinds that are not stored as they are served.
CONVERTED = {("Event", "events.k8s.io/v1"), ("HorizontalPodAutoscaler", "autoscaling/v1")}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each["id"])
def test_what_kubernetes_takes_is_drafted_as_it_is_stored(
    sample: dict[str, Any], pair: Pair
) -> None:
    obj = sample["object"]
    if obj["kind"] == "Namespace":
        obj = replaced(obj, ("metadata", "name"), "another")
    answer, taken = pair.same(post(sample["resource"], obj))
    assert answer.status == 201, answer.body
    known = obj["kind"] in CHANGED or (obj["kind"], obj["apiVersion"]) in CONVERTED
    assert taken is not known
    if taken:
        path = f"{sample['resource']}/{obj['metadata']['name']}"
        stored = pair.drafted.ask(Request("GET", path, peer=ADMIN))
        assert stored.body == answer.body


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


def changed(seed: int) -> tuple[str, Any]:
    """Where to post an object that is odd in up to two places, and the object."""
    chance = random.Random(seed)
    sample = chance.choice(SAMPLES)
    body: Any = sample["object"]
    if body["metadata"]["name"].isalpha():
        body = replaced(body, ("metadata", "name"), f"n{seed}")
    for _ in range(chance.randint(0, 2)):
        if isinstance(body, dict | list):
            body = replaced(body, chance.choice(list(paths_in(body))), chance.choice(ODD))
    if isinstance(body, dict) and chance.random() < 0.2:
        body = {**body, chance.choice(("status", "spec", "unheardOf")): chance.choice(ODD)}
    return sample["resource"], body


QUERIES = ("", "fieldManager=m", "fieldValidation=Strict", "fieldValidation=Ignore", "dryRun=All")
QUERIES += ("pretty=1", "fieldManager=" + "m" * 200, "fieldValidation=Odd")


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32), st.sampled_from(QUERIES))
def test_whatever_is_sent_is_answered_alike_with_a_draft_and_without(
    pair: Pair, seed: int, query: str
) -> None:
    path, body = changed(seed)
    answer, _ = pair.same(post(path, body, query, **{"user-agent": "tests/1"}))
    assert answer.status < 500, answer.body


ORDINARY = configmap("one", data={"a": "b"})
UNUSUAL = {
    "a name that is made up": configmap("", metadata={"generateName": "x-"}),
    "no name": configmap(""),
    "another namespace": configmap("x", metadata={"name": "x", "namespace": "other"}),
    "a version": configmap("x", metadata={"name": "x", "resourceVersion": "5"}),
    "an unknown field": configmap("x", unheardOf=1),
    "a wrong value": configmap("x", data={"a": 1}),
    "a bad name": configmap("X_"),
    "an owner twice": configmap(
        "x",
        metadata={
            "name": "x",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}] * 2,
        },
    ),
    "another kind": {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "x"}},
    "no object": [1],
}


@pytest.mark.parametrize("body", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_what_is_unusual_is_left_to_the_core(body: Any) -> None:
    assert Drafter(EFFECTS).draft(post(CONFIGMAPS, body)) is None


def test_only_what_creates_an_object_of_a_kind_that_is_built_in_is_drafted() -> None:
    drafter = Drafter(EFFECTS)
    assert drafter.draft(post(CONFIGMAPS, ORDINARY)) is not None
    for path in (
        f"{CONFIGMAPS}/one",
        "/api/v1/configmaps",
        "/api/v1/watch/namespaces/demo/configmaps",
        "/apis/ex.io/v1/namespaces/demo/widgets",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "/api",
        "//",
    ):
        assert drafter.draft(post(path, ORDINARY)) is None, path
    assert drafter.draft(replace(post(CONFIGMAPS, ORDINARY), method="PUT")) is None
    assert drafter.draft(replace(post(CONFIGMAPS, ORDINARY), body=b"[" * 10_000)) is None


def test_what_takes_long_to_read_waits_until_it_is_known_who_asks() -> None:
    drafter = Drafter(EFFECTS)
    room = DRAFTED_BYTES_MAX - len(json.dumps(configmap("x", data={"a": ""})))
    assert drafter.draft(post(CONFIGMAPS, configmap("x", data={"a": "x" * room}))) is not None
    assert drafter.draft(post(CONFIGMAPS, configmap("x", data={"a": "x" * (room + 1)}))) is None
    text = {"content-type": "application/yaml"}
    assert drafter.draft(post(CONFIGMAPS, ORDINARY, **text)) is None


def test_a_draft_for_a_name_that_is_taken_is_refused_like_any_other(pair: Pair) -> None:
    assert pair.same(post(CONFIGMAPS, configmap("taken")))[1]
    answer, _ = pair.same(post(CONFIGMAPS, configmap("taken")))
    assert json.loads(answer.body)["reason"] == "AlreadyExists"


def test_a_draft_is_refused_where_its_namespace_is_not_there(pair: Pair) -> None:
    answer, _ = pair.same(post("/api/v1/namespaces/nowhere/configmaps", configmap("x")))
    assert json.loads(answer.body)["reason"] == "NotFound"


def test_a_draft_that_a_quota_forbids_is_refused_in_the_same_words(pair: Pair) -> None:
    pair.same(post("/api/v1/namespaces", {"metadata": {"name": "limited"}}))
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"configmaps": "0"}}}
    assert pair.same(post("/api/v1/namespaces/limited/resourcequotas", quota))[0].status == 201
    answer, _ = pair.same(post("/api/v1/namespaces/limited/configmaps", configmap("x")))
    assert answer.status == 403, answer.body
    told = "requested: configmaps=1, used: configmaps=0, limited: configmaps=0"
    assert told in json.loads(answer.body)["message"]


def test_warnings_about_a_draft_are_told_as_ever(pair: Pair) -> None:
    labels = {"pod-security.kubernetes.io/warn": "restricted"}
    pair.same(post("/api/v1/namespaces", {"metadata": {"name": "careful", "labels": labels}}))
    sample = next(each for each in SAMPLES if each["object"]["kind"] == "Deployment")
    answer, taken = pair.same(post(DEPLOYMENTS.replace("demo", "careful"), sample["object"]))
    assert taken
    assert "would violate PodSecurity" in answer.headers["Warning"]


def test_a_draft_is_made_anew_where_a_webhook_wants_to_be_asked(pair: Pair) -> None:
    hook = {
        "name": "a.example.io",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [
            {
                "operations": ["*"],
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["secrets"],
            }
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Ignore",
        "namespaceSelector": {"matchLabels": {"asked": "here"}},  # nobody is, in the end
    }
    configuration = {"metadata": {"name": "asked"}, "webhooks": [hook]}
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    assert pair.same(post(path, configuration))[0].status == 201
    secrets = "/api/v1/namespaces/demo/secrets"
    answer, taken = pair.same(post(secrets, {"metadata": {"name": "asked-about"}}))
    assert (answer.status, taken) == (201, False)
    for server in (pair.plain, pair.drafted):
        assert server.ask(Request("DELETE", f"{path}/asked", peer=ADMIN)).status == 200


def test_kinds_whose_drafts_are_never_taken_are_left_alone_but_for_a_trial() -> None:
    drafter = Drafter(EFFECTS)
    request = post(CONFIGMAPS, ORDINARY)
    for _ in range(VAIN_MAX):
        assert drafter.draft(request) is not None
        drafter.learn(request, taken=False)
    drafts = [drafter.draft(request) for _ in range(2 * TRIED_AGAIN)]
    assert sum(draft is not None for draft in drafts) == 2
    drafter.learn(request, taken=True)
    assert drafter.draft(request) is not None
