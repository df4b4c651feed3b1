"""Audit events of real requests to a server in process: what is recorded of them, and what not."""

import asyncio
import contextvars
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

import orjson
import pytest

from atoll.apiserver.assembly import Assembly, assemble
from atoll.apiserver.audit.annotating import annotate, collect
from atoll.apiserver.audit.policy import USUAL, Policy, Rule, read_policy
from atoll.apiserver.authentication import MASTERS
from atoll.client.transport import closing
from atoll.effects import system_effects
from atoll.exchange import Peer, Request, Response
from atoll.main import Plane, run
from atoll.store.memory import MemoryLog
from atoll.store.store import Store
from atoll.wire import Wire

ADMIN = Peer("admin", (MASTERS,))
MAPS = "/api/v1/namespaces/default/configmaps"
ALL = Policy((Rule("RequestResponse"),))
HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"


class Audited:
    """A server whose audit events are at hand."""

    def __init__(self, runner: asyncio.Runner, server: Assembly) -> None:
        self._runner, self._server = runner, server
        self.events: list[Wire] = []

    def record(self, policy: Policy) -> None:
        def sink(line: bytes) -> None:
            assert line.endswith(b"\n")
            assert line.count(b"\n") == 1
            self.events.append(orjson.loads(line))

        self._server.audit(policy, sink, tuple)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        peer: Peer | None = ADMIN,
        **headers: str,
    ) -> Response:
        path, _, query = path.partition("?")
        sent = {"content-type": "application/json", "user-agent": "test"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        request = Request(method, path, query, sent, data, peer, "192.0.2.7")

        async def exchange() -> Response:
            response = await self._server.handle(request)
            if response.stream is not None:
                async with closing(response.stream):
                    await anext(response.stream)
            return response

        return self._runner.run(exchange())


@contextmanager
def server() -> Iterator[Audited]:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def start() -> Assembly:
            store = Store.open(MemoryLog())
            plane = Plane(store, assemble(store, system_effects()))
            await run(plane, system_effects(), stack)
            return plane.server

        try:
            yield Audited(runner, runner.run(start()))
        finally:
            runner.run(stack.aclose())


@pytest.fixture(scope="module")
def shared() -> Iterator[Audited]:
    with server() as audited:
        yield audited


@pytest.fixture
def audited(shared: Audited) -> Audited:
    shared.events.clear()
    shared.record(USUAL)
    return shared


def without_times(event: Wire) -> Wire:
    kept = dict(event)
    for key in ("requestReceivedTimestamp", "stageTimestamp"):
        stamp = kept.pop(key)
        assert len(stamp) == len("2030-01-01T00:00:00.000000Z")
    assert kept.pop("auditID")
    return kept


def test_who_did_what_is_recorded_and_not_what_was_in_it(audited: Audited) -> None:
    audited.ask("POST", f"{MAPS}?fieldManager=me", {"metadata": {"name": "a"}, "data": {"k": "v"}})
    (event,) = audited.events
    assert without_times(event) == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "stage": "ResponseComplete",
        "requestURI": f"{MAPS}?fieldManager=me",
        "verb": "create",
        "user": {"username": "admin", "groups": [MASTERS, "system:authenticated"]},
        "sourceIPs": ["192.0.2.7"],
        "userAgent": "test",
        "objectRef": {
            "resource": "configmaps",
            "namespace": "default",
            "name": "a",
            "apiVersion": "v1",
        },
        "responseStatus": {"metadata": {}, "code": 201},
        "annotations": {
            "authorization.k8s.io/decision": "allow",
            "authorization.k8s.io/reason": "",
        },
    }


def test_the_audit_id_of_the_response_is_that_of_the_event(audited: Audited) -> None:
    response = audited.ask("GET", "/version", audit_id="given")
    assert response.headers["Audit-Id"] == "given"
    (event,) = audited.events
    assert (event["auditID"], event["verb"]) == ("given", "get")
    assert "objectRef" not in event


def test_a_refusal_is_recorded_with_its_reason(audited: Audited) -> None:
    audited.ask("GET", f"{MAPS}/a", peer=Peer("joe", ()))
    (event,) = audited.events
    assert event["user"] == {"username": "joe", "groups": ["system:authenticated"]}
    assert event["responseStatus"]["code"] == 403
    assert event["responseStatus"]["reason"] == "Forbidden"
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"


def test_who_is_not_known_is_recorded_as_such(audited: Audited) -> None:
    audited.ask("GET", MAPS, peer=None, authorization="Bearer nonsense")
    (event,) = audited.events
    assert (event["stage"], event["user"]) == ("ResponseStarted", {})
    assert event["responseStatus"]["message"] == "Unauthorized"
    assert "annotations" not in event


def test_for_whom_somebody_speaks_is_recorded(audited: Audited) -> None:
    audited.ask("GET", MAPS, impersonate_user="joe", impersonate_group="ops")
    (event,) = audited.events
    assert event["user"]["username"] == "admin"
    assert event["impersonatedUser"] == {
        "username": "joe",
        "groups": ["ops", "system:authenticated"],
    }


def test_what_was_said_is_recorded_where_the_policy_wants_it(audited: Audited) -> None:
    audited.record(ALL)
    audited.ask("POST", MAPS, {"metadata": {"name": "b"}, "data": {"k": "v"}})
    received, complete = audited.events
    assert (received["stage"], complete["stage"]) == ("RequestReceived", "ResponseComplete")
    assert "requestObject" not in received
    assert complete["requestObject"] == {"metadata": {"name": "b"}, "data": {"k": "v"}}
    assert complete["responseObject"]["metadata"]["managedFields"]
    assert complete["responseObject"]["data"] == {"k": "v"}


def test_yaml_and_patches_are_recorded_and_nonsense_is_not(audited: Audited) -> None:
    audited.record(ALL)
    yaml = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yam}\n"
    audited.ask("POST", MAPS, yaml, content_type="application/yaml")
    assert audited.events[-1]["requestObject"]["metadata"] == {"name": "yam"}
    kind = "application/merge-patch+json"
    audited.ask("PATCH", f"{MAPS}/yam", {"data": {"k": None}}, content_type=kind)
    assert audited.events[-1]["requestObject"] == {"data": {"k": None}}
    audited.ask("POST", MAPS, b"{nonsense")
    assert "requestObject" not in audited.events[-1]
    assert audited.events[-1]["responseStatus"]["code"] == 400


def test_owners_of_fields_are_left_out_where_the_policy_wants_it(audited: Audited) -> None:
    audited.record(Policy((Rule("RequestResponse", omits_owners=True),)))
    audited.ask("POST", MAPS, {"metadata": {"name": "c"}})
    assert "managedFields" not in audited.events[-1]["responseObject"]["metadata"]
    audited.ask("GET", MAPS)
    assert "managedFields" not in str(audited.events[-1]["responseObject"])
    audited.ask("GET", MAPS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert audited.events[-1]["responseObject"]["rows"]
    assert "managedFields" not in str(audited.events[-1]["responseObject"])


def test_secrets_stay_secret_unless_the_policy_says_otherwise(audited: Audited) -> None:
    path, word = "/api/v1/namespaces/default/secrets", "c2VzYW1l"
    audited.ask("POST", path, {"metadata": {"name": "s"}, "data": {"word": word}})
    audited.ask("GET", path)
    audited.ask("GET", f"{path}/s")
    assert len(audited.events) == 3
    assert word not in str(audited.events)
    policy = HEAD + (
        "rules:\n- {level: Metadata, resources: [{group: '', resources: [secrets]}]}\n"
        "- {level: RequestResponse}\n"
    )
    audited.record(read_policy(policy, "p.yaml"))
    audited.ask("GET", f"{path}/s")
    assert word not in str(audited.events)


def test_a_watch_is_recorded_when_it_starts_and_when_it_ends(audited: Audited) -> None:
    audited.ask("GET", f"{MAPS}?watch=true&timeoutSeconds=5")
    started, complete = audited.events
    assert (started["stage"], complete["stage"]) == ("ResponseStarted", "ResponseComplete")
    assert started["verb"] == complete["verb"] == "watch"
    assert started["auditID"] == complete["auditID"]


def test_what_the_policy_leaves_out_is_not_recorded(audited: Audited) -> None:
    audited.record(Policy((Rule("None", paths=("/healthz",)), Rule("Metadata"))))
    audited.ask("GET", "/healthz")
    assert audited.events == []
    audited.ask("GET", "/livez")
    assert [event["stage"] for event in audited.events] == ["RequestReceived", "ResponseComplete"]


def test_remarks_go_to_the_request_that_is_being_served_and_to_no_other() -> None:
    remarks: dict[str, str] = {}

    def serve() -> None:
        collect(remarks)
        annotate("a", "first")
        annotate("a", "second")

    contextvars.copy_context().run(serve)
    annotate("b", "to nobody")
    assert remarks == {"a": "first"}


def test_a_long_name_of_a_program_is_cut(audited: Audited) -> None:
    audited.ask("GET", "/version", user_agent="x" * 5000)
    (event,) = audited.events
    assert event["userAgent"] == "x" * 1024 + "...TRUNCATED"
