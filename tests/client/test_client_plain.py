"""The client for short commands, against a real server of our own in a thread."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from threads import Serve

from atoll.client.collection import Collection
from atoll.client.refusals import Missing, Refused, Stale, Taken
from atoll.client.transport import Unreachable
from atoll.exchange import Handler, Request, Response

MAPS = Collection("v1", "ConfigMap", "configmaps", namespaced=True)


def saying(response: Response, seen: list[Request] | None = None) -> Handler:
    async def handler(request: Request) -> Response:
        if seen is not None:
            seen.append(request)
        return response

    return handler


def test_a_request_arrives_as_it_was_meant_and_its_answer_comes_back(serve: Serve) -> None:
    seen: list[Request] = []
    client = serve(saying(Response(418, {"X-Answer": "Yes"}, b"tea"), seen)).client()
    answer = client.request("PATCH", "/a%2Fb", "q=a%20b", b"{}", {"Content-Type": "x/y"})
    assert (answer.status, answer.headers["x-answer"], answer.body) == (418, "Yes", b"tea")
    got = seen[0]
    assert (got.method, got.path, got.query, got.body) == ("PATCH", "/a%2Fb", "q=a%20b", b"{}")
    assert got.headers["content-type"] == "x/y"
    assert got.headers["user-agent"].startswith("atoll/")
    assert got.peer is not None
    client.close()


def test_objects_are_listed_page_by_page(serve: Serve) -> None:
    pages = {
        "limit=500": ["a", "b"],
        "limit=500&continue=2": ["c"],
    }

    async def handler(request: Request) -> Response:
        items = [{"metadata": {"name": name}} for name in pages[request.query]]
        more = {"continue": "2"} if "continue" not in request.query else {}
        return Response(200, {}, json.dumps({"metadata": more, "items": items}).encode())

    client = serve(handler).client()
    found = client.list(MAPS, "default")
    assert [each["metadata"]["name"] for each in found] == ["a", "b", "c"]
    assert {each["kind"] for each in found} == {"ConfigMap"}
    client.close()


def test_every_verb_says_what_it_means(serve: Serve) -> None:
    seen: list[Request] = []
    client = serve(saying(Response(200, {}, b'{"kind": "ConfigMap"}'), seen)).client()
    wire = {"metadata": {"name": "a", "namespace": "n"}, "data": {}}
    client.create(MAPS, wire)
    client.replace(MAPS, wire, "status")
    client.patch(MAPS.path_of(wire), {"data": None})
    client.delete(MAPS.path_of(wire), uid="u")
    client.close()
    assert [(each.method, each.path) for each in seen] == [
        ("POST", "/api/v1/namespaces/n/configmaps"),
        ("PUT", "/api/v1/namespaces/n/configmaps/a/status"),
        ("PATCH", "/api/v1/namespaces/n/configmaps/a"),
        ("DELETE", "/api/v1/namespaces/n/configmaps/a"),
    ]
    assert seen[2].headers["content-type"] == "application/merge-patch+json"
    assert json.loads(seen[3].body)["preconditions"] == {"uid": "u"}


@pytest.mark.parametrize(
    ("code", "body", "kind", "says"),
    [
        pytest.param(404, b'{"reason": "NotFound", "message": "no a"}', Missing, "no a", id="404"),
        pytest.param(409, b'{"reason": "AlreadyExists"}', Taken, "answered 409", id="taken"),
        pytest.param(409, b'{"reason": "Conflict"}', Stale, "answered 409", id="stale"),
        pytest.param(503, b"<html>", Refused, "<html>", id="not-even-json"),
        pytest.param(500, b"[1]", Refused, "answered 500", id="json-of-another-kind"),
    ],
)
def test_a_refusal_is_raised_by_what_it_means(
    serve: Serve, code: int, body: bytes, kind: type[Refused], says: str
) -> None:
    client = serve(saying(Response(code, {}, body))).client()
    with pytest.raises(kind, match=says) as caught:
        client.get("/a")
    assert type(caught.value) is kind
    client.close()


def test_lines_of_a_stream_come_as_they_are_sent(serve: Serve) -> None:
    async def events() -> AsyncIterator[bytes]:
        yield b"one\nt"
        yield b"wo\n"

    async def handler(request: Request) -> Response:
        return Response(200, {}, stream=events())

    client = serve(handler).client()
    with client.stream("/w", "watch=1") as lines:
        assert list(lines) == [b"one\n", b"two\n"]


def test_a_stream_that_is_refused_raises(serve: Serve) -> None:
    client = serve(saying(Response(404, {}, b"{}"))).client()
    with pytest.raises(Missing), client.stream("/w"):
        raise AssertionError("unreachable")


def test_a_stream_that_falls_silent_ends(serve: Serve) -> None:
    async def silence() -> AsyncIterator[bytes]:
        yield b"one\n"
        await asyncio.Event().wait()

    async def handler(request: Request) -> Response:
        return Response(200, {}, stream=silence())

    def read() -> None:
        with serve(handler).client().stream("/w", silence_s=0.2) as lines:
            assert set(lines) <= {b"one\n"}

    with pytest.raises(Unreachable, match="timed out"):
        read()


def test_what_goes_wrong_with_the_lines_elsewhere_is_not_the_servers_fault(serve: Serve) -> None:
    async def events() -> AsyncIterator[bytes]:
        yield b"one\n"
        await asyncio.Event().wait()

    async def handler(request: Request) -> Response:
        return Response(200, {}, stream=events())

    def show() -> None:
        with serve(handler).client().stream("/w") as lines:
            next(lines)
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        show()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        pytest.param(b"<html>", "not JSON", id="a-page"),
        pytest.param(b"[" * 200_000, "not JSON", id="deep"),
        pytest.param(b"[1]", "no object", id="a-list"),
    ],
)
def test_an_answer_that_is_no_object_is_a_refusal(said: bytes, why: str, serve: Serve) -> None:
    client = serve(saying(Response(200, {}, said))).client()
    with pytest.raises(Refused, match=why):
        client.get("/a")
    client.close()


def test_a_server_that_restarted_is_found_again(serve: Serve) -> None:
    serving = serve(saying(Response(200, {}, b"{}")))
    client = serving.client()
    assert client.get("/") == {}
    serving.pause()
    with pytest.raises(Unreachable, match="did not answer"):
        client.get("/")
    serving.resume()
    assert client.get("/") == {}
    client.close()


def test_a_server_that_does_not_answer_is_given_up(serve: Serve) -> None:
    async def handler(request: Request) -> Response:
        await asyncio.Event().wait()
        return Response(200)

    client = serve(handler).client(patience_s=0.2)
    with pytest.raises(Unreachable, match="timed out"):
        client.get("/")


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        pytest.param("reaching", {"yaml", "msgspec", "orjson", "asyncio", "subprocess"}, id="all"),
        *(pytest.param(name, set(), id=name) for name in ("join", "leaving", "taint")),
    ],
)
def test_commands_import_nothing_that_takes_long(module: str, forbidden: set[str]) -> None:
    code = f"import atoll.cli.{module}, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & (forbidden | {"aiohttp", "numpy", "rich"})
