"""Users' kinds, as their webhooks explain them: a real HTTPS server, asked by the whole plane."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from sites import until
from test_interpretation import (
    BOUND,
    CONFIG,
    STALL,
    customization,
    in_member,
    market,
    serve,
    stall,
    stalls_policy,
    told,
)
from whole import Whole

from atoll.apiserver.certificates import ensure_credentials
from atoll.apiserver.credentials import Credentials
from atoll.apiserver.http.serving import HttpServer, listen
from atoll.apiserver.http.tls import server_context
from atoll.client.posting import ANSWER_BYTES_MAX
from atoll.effects import system_now
from atoll.exchange import Request, Response
from atoll.wire import Wire

Answer = Callable[[Wire], Wire]


@pytest.fixture(scope="session")
def credentials(tmp_path_factory: pytest.TempPathFactory) -> Credentials:
    return ensure_credentials(tmp_path_factory.mktemp("hooks"), datetime.now(UTC))


@pytest.fixture(scope="session")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Credentials:
    return ensure_credentials(tmp_path_factory.mktemp("strangers"), datetime.now(UTC))


class Interpreter:
    """A webhook that knows stalls; `answer` may be replaced."""

    def __init__(self) -> None:
        self.url = ""
        self.operations: set[str] = set()
        self.answer: Answer = explained
        self.status = 200
        self.pause_s = 0.0

    async def handle(self, request: Request) -> Response:
        assert (request.method, request.path) == ("POST", "/stalls")
        assert request.headers["content-type"] == "application/json"
        context = json.loads(request.body)
        assert context["apiVersion"] == CONFIG
        assert context["kind"] == "ResourceInterpreterContext"
        asked = context["request"]
        assert asked["kind"] == {"group": "shops.example.io", "version": "v1", "kind": "Stall"}
        assert (asked["name"], asked["namespace"]) == (STALL.name, STALL.namespace)
        self.operations.add(asked["operation"])
        await asyncio.sleep(self.pause_s)
        response = {"uid": asked["uid"], "successful": True, **self.answer(asked)}
        body = {"apiVersion": CONFIG, "kind": context["kind"], "response": response}
        return Response(
            self.status, {"content-type": "application/json"}, json.dumps(body).encode()
        )


def explained(asked: Wire) -> Wire:
    """What a good interpreter says of a stall."""
    wire = asked["object"]
    status = wire.get("status") or {}
    match asked["operation"]:
        case "InterpretReplica":
            needs = {"resourceRequest": {"cpu": "100m"}}
            return {"replicas": wire["spec"]["keepers"], "replicaRequirements": needs}
        case "ReviseReplica":
            return patch({"op": "replace", "path": "/spec/keepers", "value": asked["replicas"]})
        case "Retain":
            place = asked["observedObject"]["spec"].get("place")
            return patch({"op": "add", "path": "/spec/place", "value": place}) if place else {}
        case "InterpretStatus":
            return {"rawStatus": {"open": status.get("open", 0)}}
        case "InterpretHealth":
            return {"healthy": status.get("open") == wire["spec"]["keepers"]}
        case "AggregateStatus":
            items = asked.get("aggregatedStatus") or []
            total = sum((each.get("status") or {}).get("open", 0) for each in items)
            return patch({"op": "add", "path": "/status", "value": {"open": total}})
    return {"dependencies": []}


def patch(*operations: Wire) -> Wire:
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"patchType": "JSONPatch", "patch": text}


@asynccontextmanager
async def serving(credentials: Credentials) -> AsyncIterator[Interpreter]:
    interpreter = Interpreter()
    server = HttpServer(interpreter.handle, system_now)
    listener = listen("127.0.0.1", 0)
    tls = server_context(credentials.server, credentials.server_key, credentials.ca)
    await server.start(listener, tls)
    interpreter.url = f"https://127.0.0.1:{listener.getsockname()[1]}/stalls"
    try:
        yield interpreter
    finally:
        await server.stop()


def configuration(url: str, ca: bytes, **more: Any) -> Wire:
    rule = {
        "operations": ["*"],
        "apiGroups": ["shops.example.io"],
        "apiVersions": ["v1"],
        "kinds": ["Stall"],
    }
    hook = {
        "name": "stalls.example.io",
        "clientConfig": {"url": url, "caBundle": base64.b64encode(ca).decode()},
        "rules": [rule],
        "interpreterContextVersions": ["v1alpha1"],
        **more,
    }
    return {
        "apiVersion": CONFIG,
        "kind": "ResourceInterpreterWebhookConfiguration",
        "metadata": {"name": "shops"},
        "webhooks": [hook],
    }


def summed(it: Whole) -> Any:
    return (it.hub.plane.find(STALL) or {}).get("status")


def test_a_kind_of_a_user_is_explained_by_a_webhook(credentials: Credentials) -> None:
    async def story() -> None:
        async with serving(credentials) as interpreter, market() as it:
            await it.create(configuration(interpreter.url, credentials.ca.read_bytes()))
            await it.create(stalls_policy())
            await it.create(stall(4))
            await until(lambda: in_member(it, "m1") and in_member(it, "m2"))
            assert [in_member(it, name)["spec"]["keepers"] for name in ("m1", "m2")] == [1, 3]
            for name in ("m1", "m2"):
                await serve(it, name)
            await until(lambda: summed(it) == {"open": 4})

            def health() -> set[str]:
                binding = it.hub.plane.find(BOUND) or {}
                return {each["health"] for each in binding["status"]["aggregatedStatus"]}

            await until(lambda: health() == {"Healthy"})
            written = it.hub.plane.find(STALL) or {}
            await it.replace({**written, "spec": {**written["spec"], "colour": "red"}})
            await until(lambda: in_member(it, "m2")["spec"].get("colour") == "red")
            assert in_member(it, "m2")["spec"]["place"] == "market of m2"
            expected = {"InterpretReplica", "ReviseReplica", "Retain", "AggregateStatus"}
            assert expected | {"InterpretStatus", "InterpretHealth"} <= interpreter.operations

    asyncio.run(story())


def test_scripts_win_over_webhooks_one_operation_at_a_time(credentials: Credentials) -> None:
    async def story() -> None:
        async with serving(credentials) as interpreter, market() as it:
            script = "function GetReplicas(obj) return 8, nil end"
            await it.create(customization(replicaResource=script))
            await it.create(configuration(interpreter.url, credentials.ca.read_bytes()))
            await it.create(stalls_policy())
            await it.create(stall(4))
            await until(lambda: in_member(it, "m1") and in_member(it, "m2"))
            assert [in_member(it, name)["spec"]["keepers"] for name in ("m1", "m2")] == [2, 6]
            assert "InterpretReplica" not in interpreter.operations
            assert "ReviseReplica" in interpreter.operations

    asyncio.run(story())


def slow(interpreter: Interpreter) -> None:
    interpreter.pause_s = 30.0


def failing(interpreter: Interpreter) -> None:
    interpreter.status = 503


def endless(interpreter: Interpreter) -> None:
    interpreter.answer = lambda asked: {"status": {"message": "x" * ANSWER_BYTES_MAX}}


def refusing(interpreter: Interpreter) -> None:
    status = {"code": 422, "message": "no such fruit"}
    interpreter.answer = lambda asked: {"successful": False, "status": status}


def mistaken(interpreter: Interpreter) -> None:
    interpreter.answer = lambda asked: {"uid": "another"}


def silent(interpreter: Interpreter) -> None:
    interpreter.answer = lambda asked: {}


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        pytest.param(slow, "did not answer within 1 s", id="timeout"),
        pytest.param(failing, "answered with status 503", id="status"),
        pytest.param(endless, f"sent more than {ANSWER_BYTES_MAX} bytes", id="endless"),
        pytest.param(refusing, "it failed with code 422: no such fruit", id="not successful"),
        pytest.param(mistaken, "response.uid", id="another uid"),
        pytest.param(silent, "response.replicas must be given", id="no replicas"),
    ],
)
def test_a_webhook_that_fails_is_named_with_the_cause_and_asked_again(
    credentials: Credentials, spoil: Callable[[Interpreter], None], cause: str
) -> None:
    async def story() -> None:
        async with serving(credentials) as interpreter, market() as it:
            spoil(interpreter)
            ca = credentials.ca.read_bytes()
            made = await it.create(configuration(interpreter.url, ca, timeoutSeconds=1))
            await it.create(stalls_policy())
            await it.create(stall(4))
            await until(lambda: told(it, STALL, "ApplyPolicyFailed"))
            message = told(it, STALL, "ApplyPolicyFailed")
            for part in (cause, "shops/stalls.example.io", "InterpretReplica"):
                assert part in message
            assert it.hub.plane.find(BOUND) is None
            interpreter.pause_s, interpreter.status, interpreter.answer = 0.0, 200, explained
            if spoil is refusing:
                # What a webhook says of an object is asked again later than we want to wait.
                made["webhooks"][0]["timeoutSeconds"] = 2
                await it.replace(made)
            await until(lambda: in_member(it, "m1") and in_member(it, "m2"))

    asyncio.run(story())


def test_a_server_with_a_wrong_certificate_is_not_trusted(
    credentials: Credentials, strangers: Credentials
) -> None:
    async def story() -> None:
        async with serving(credentials) as interpreter, market() as it:
            made = await it.create(configuration(interpreter.url, strangers.ca.read_bytes()))
            await it.create(stalls_policy())
            await it.create(stall(4))
            await until(lambda: told(it, STALL, "ApplyPolicyFailed"))
            assert "certificate cannot be trusted" in told(it, STALL, "ApplyPolicyFailed")
            assert not interpreter.operations
            right = configuration(interpreter.url, credentials.ca.read_bytes())
            await it.replace({**made, "webhooks": right["webhooks"]})
            await until(lambda: in_member(it, "m1") and in_member(it, "m2"))

    asyncio.run(story())


def test_a_webhook_may_be_a_service_that_the_plane_knows(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    directory = tmp_path_factory.mktemp("service")
    own = ensure_credentials(directory, datetime.now(UTC), more_names=["stalls.default.svc"])

    async def story() -> None:
        async with serving(own) as interpreter, market() as it:
            port = int(interpreter.url.rpartition(":")[2].partition("/")[0])
            await it.create(
                {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "metadata": {"namespace": "default", "name": "stalls"},
                    "spec": {"type": "ExternalName", "externalName": "localhost"},
                }
            )
            service = {"namespace": "default", "name": "stalls", "port": port, "path": "/stalls"}
            made = configuration("", own.ca.read_bytes())
            config = made["webhooks"][0]["clientConfig"]
            made["webhooks"][0]["clientConfig"] = {
                "service": service,
                "caBundle": config["caBundle"],
            }
            await it.create(made)
            await it.create(stalls_policy())
            await it.create(stall(4))
            await until(lambda: in_member(it, "m1") and in_member(it, "m2"))
            assert [in_member(it, name)["spec"]["keepers"] for name in ("m1", "m2")] == [1, 3]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ({"clusterIP": "None", "ports": [{"port": 443}]}, "has no clusterIP"),
        ({"clusterIP": "10.0.0.7", "ports": [{"port": 80}]}, "443: is no port of Service"),
    ],
)
def test_a_service_that_cannot_be_reached_is_said_so(
    credentials: Credentials, spec: Wire, cause: str
) -> None:
    async def story() -> None:
        async with market() as it:
            metadata = {"namespace": "default", "name": "stalls"}
            service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
            await it.create(service)
            made = configuration("", credentials.ca.read_bytes())
            made["webhooks"][0]["clientConfig"] = {"service": metadata}
            await it.create(made)
            await it.create(stalls_policy())
            await it.create(stall(4))
            await until(lambda: told(it, STALL, "ApplyPolicyFailed"))
            assert cause in told(it, STALL, "ApplyPolicyFailed")

    asyncio.run(story())
