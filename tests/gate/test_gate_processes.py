"""Gates as processes: killed, stuck and stopped, none loses more than its own clients."""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from atoll.apiserver.certificates import ensure_credentials
from atoll.apiserver.credentials import Credentials
from atoll.apiserver.gate.gates import Gates
from atoll.apiserver.http.serving import listen
from atoll.effects import Chance
from atoll.errors import UsageError
from atoll.exchange import Duplex, Handler, Request, Response
from atoll.runtime.supervisor import Restart, Supervisor
from tests.http.talking import Client, client_tls, until


def run(main: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(120):
            await main

    asyncio.run(limited())


@pytest.fixture(scope="module")
def credentials(tmp_path_factory: pytest.TempPathFactory) -> Credentials:
    return ensure_credentials(tmp_path_factory.mktemp("gate") / "pki", datetime.now(UTC))


@dataclass
class Served:
    """A handler behind gates, and how to reach it."""

    gates: Gates
    port: int
    credentials: Credentials

    async def connect(self) -> Client:
        tls = client_tls(self.credentials)
        where = asyncio.open_connection("127.0.0.1", self.port, ssl=tls)
        return Client(*await where)

    async def is_served(self) -> bool:
        client = await self.connect()
        answer = await client.get("/")
        await client.close()
        return answer.status == 200


async def echo(request: Request) -> Response:
    who = request.peer.name if request.peer else "nobody"
    told = {"who": who, "from": request.source, "path": request.path, "pid": os.getpid()}
    return Response(200, {"Content-Type": "application/json"}, json.dumps(told).encode())


@asynccontextmanager
async def serving(
    credentials: Credentials, handler: Handler = echo, *, count: int = 1, ping_s: float = 5.0
) -> AsyncIterator[Served]:
    known = credentials
    files = (known.server, known.server_key, known.ca, known.front_ca)
    gates = Gates(handler, count, 100, ping_s=ping_s)
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        gates.open(listener, files)
        async with Supervisor("test", Chance("test")) as supervisor:
            for number in range(count):
                supervisor.start(f"gate {number}", gates.run, restart=Restart(first_s=0.01))
            await gates.started()
            yield Served(gates, port, credentials)
            pids = gates.pids
            await gates.stop()
            await until(lambda: not any(map(is_alive, pids)))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_requests_are_answered_here_and_clients_are_another_process_s(
    credentials: Credentials,
) -> None:
    async def main() -> None:
        async with serving(credentials) as it:
            tls = client_tls(credentials, (str(credentials.admin), str(credentials.admin_key)))
            where = asyncio.open_connection("127.0.0.1", it.port, ssl=tls)
            client = Client(*await where)
            told = json.loads((await client.get("/x")).body)
            assert told == {
                "who": "kubernetes-admin",
                "from": "127.0.0.1",
                "path": "/x",
                "pid": os.getpid(),
            }
            other = await it.connect()
            await other.get("/")
            assert it.gates.connection_count == 2
            assert it.gates.memory_bytes > 1_000_000
            await other.close()
            await until(lambda: it.gates.connection_count == 2)
            await client.get("/")
            await client.close()

    run(main())


def test_a_gate_that_is_killed_is_replaced_and_who_comes_meanwhile_waits(
    credentials: Credentials, caplog: pytest.LogCaptureFixture
) -> None:
    closed = asyncio.Event()
    finished: list[str] = []
    asked, go = asyncio.Event(), asyncio.Event()

    async def stream() -> AsyncIterator[bytes]:
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def handler(request: Request) -> Response:
        if request.path == "/stream":
            return Response(200, stream=stream())
        if request.path == "/slow":
            asked.set()
            await go.wait()
            finished.append(request.path)
        return Response(200)

    async def main() -> None:
        async with serving(credentials, handler) as it:
            watching, writing = await it.connect(), await it.connect()
            await watching.send(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
            await watching.head()
            assert await watching.chunk() == b"first"
            await writing.send(b"POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            await asked.wait()
            (pid,) = it.gates.pids
            os.kill(pid, signal.SIGKILL)
            assert await watching.is_closed_by_server()
            assert await it.is_served(), "by the next one, in whose backlog this waited"
            await closed.wait()
            assert it.gates.pids != [pid]
            go.set()
            await until(lambda: finished == ["/slow"])  # what was begun goes on to its end
            for client in (watching, writing):
                client.vanish()

    run(main())
    assert "ended with -9" in caplog.text


def test_a_gate_that_does_not_answer_is_killed_and_replaced(
    credentials: Credentials, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with serving(credentials, ping_s=0.5) as it:
            (pid,) = it.gates.pids
            os.kill(pid, signal.SIGSTOP)
            await until(lambda: it.gates.pids not in ([pid], []))
            assert not is_alive(pid)
            assert await it.is_served()

    run(main())
    assert "does not answer any more" in caplog.text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_for_the_core(number: signal.Signals, credentials: Credentials) -> None:
    async def main() -> None:
        async with serving(credentials) as it:
            pids = it.gates.pids
            os.kill(pids[0], number)
            assert await it.is_served()
            assert it.gates.pids == pids

    run(main())


def test_stopping_finishes_answers_and_ends_streams(credentials: Credentials) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def stream() -> AsyncIterator[bytes]:
        yield b"first"
        await asyncio.Event().wait()

    async def handler(request: Request) -> Response:
        if request.path == "/stream":
            return Response(200, stream=stream())
        asked.set()
        await go.wait()
        return Response(201, {}, b"done")

    async def main() -> None:
        async with serving(credentials, handler) as it:
            watching, asking = await it.connect(), await it.connect()
            await watching.send(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
            await watching.head()
            assert await watching.chunk() == b"first"
            await asking.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            await asked.wait()
            stopping = asyncio.ensure_future(it.gates.stop())
            assert await watching.chunk() == b"", "the last one"
            go.set()
            answer = await asking.answer()
            assert (answer.status, answer.headers["connection"]) == (201, "close")
            await stopping
            with pytest.raises(ConnectionRefusedError):
                await it.connect()
            for client in (watching, asking):
                client.vanish()

    run(main())


def test_a_renewed_certificate_is_shown_to_the_next_client(tmp_path: Path) -> None:
    then = datetime.now(UTC)
    credentials = ensure_credentials(tmp_path / "pki", then)

    async def shown(it: Served) -> bytes:
        client = await it.connect()
        tls: ssl.SSLObject = client.writer.get_extra_info("ssl_object")
        certificate = tls.getpeercert(binary_form=True)
        await client.close()
        assert certificate is not None
        return certificate

    async def main() -> None:
        async with serving(credentials) as it:
            before = await shown(it)
            kept = credentials.server.read_bytes()
            credentials.server.unlink()
            ensure_credentials(tmp_path / "pki", then - timedelta(minutes=5))
            assert credentials.server.read_bytes() != kept
            it.gates.reload()
            while await shown(it) == before:
                await asyncio.sleep(0.01)

    run(main())


def test_what_a_gate_logs_is_in_our_log(
    credentials: Credentials, caplog: pytest.LogCaptureFixture
) -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield b"first"
        raise OSError("the rest is lost")

    async def handler(request: Request) -> Response:
        return Response(200, stream=stream())

    def told() -> list[str]:
        return [each.name for each in caplog.records if "middle of a stream" in each.message]

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await client.head()
            await until(lambda: len(told()) == 2)
            client.vanish()

    run(main())
    assert sorted(told()) == ["atoll.gate", "atoll.http"]


CORE = """
import asyncio
import sys
from pathlib import Path

from atoll.apiserver.gate.gates import Gates
from atoll.apiserver.http.serving import listen


async def answer(request):
    raise AssertionError("nobody asks")


async def main():
    gates = Gates(answer, 1, 100)
    with listen("127.0.0.1", 0) as listener:
        gates.open(listener, [Path(each) for each in sys.argv[1:]])
        gate = asyncio.create_task(gates.run())
        await gates.started()
        print(listener.getsockname()[1], *gates.pids, flush=True)
        await gate


asyncio.run(main())
"""


def is_free(port: int) -> bool:
    try:
        listen("127.0.0.1", port).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_gate_that_is_frozen_does_not_keep_the_port_of_a_core_that_was_killed(
    credentials: Credentials,
) -> None:
    known = credentials
    files = (known.server, known.server_key, known.ca, known.front_ca)
    command = [sys.executable, "-c", CORE, *map(str, files)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as core:
        assert core.stdout is not None
        port, gate = map(int, core.stdout.readline().split())
        os.kill(gate, signal.SIGSTOP)
        assert not is_free(port)
        core.kill()
    try:
        run(until(lambda: is_free(port)))
    finally:
        with suppress(ProcessLookupError):
            os.kill(gate, signal.SIGKILL)


def test_a_gate_that_cannot_start_is_told_of_at_once(tmp_path: Path) -> None:
    nothing = Credentials(tmp_path / "nothing")

    async def main() -> None:
        with pytest.raises(UsageError, match="cannot start: it ended with 1"):
            async with serving(nothing):
                raise AssertionError("nobody serves")

    run(main())


def test_an_upgraded_connection_goes_through_a_gate_in_both_directions(
    credentials: Credentials,
) -> None:
    over: list[str] = []

    async def shout(other: Duplex) -> None:
        try:
            while heard := await other.read():
                await other.write(heard.upper())
        finally:
            over.append("ended")

    async def handler(request: Request) -> Response:
        return Response(101, {"Upgrade": "shouting"}, upgrade=shout)

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n\r\n")
            assert (await client.head())[0] == 101
            for word in (b"hello", b"x" * 1_000_000):
                client.writer.write(word)
                assert await client.reader.readexactly(len(word)) == word.upper()
            await client.close()
            await until(lambda: over != [])

    run(main())


def test_a_slow_reader_behind_a_gate_holds_up_its_stream_and_nobody_else(
    credentials: Credentials,
) -> None:
    made = 0
    piece = b"x" * 16_384

    async def stream() -> AsyncIterator[bytes]:
        nonlocal made
        while True:
            made += len(piece)
            yield piece

    async def handler(request: Request) -> Response:
        return Response(200) if request.path == "/" else Response(200, stream=stream())

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await client.send(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
            seen = -1
            while seen != made or not made:  # until no more is taken
                seen = made
                await asyncio.sleep(0.3)
            assert made < 32 * 1024 * 1024
            assert await it.is_served()
            client.writer.transport.resume_reading()  # type: ignore[attr-defined]
            while made == seen:
                assert await client.reader.read(65_536)
            client.vanish()

    run(main())


def loaded(pid: int) -> set[str]:
    """Which of these libraries a process has loaded."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return {name for name in ("cryptography", "numpy", "apsw", "aiohttp", "re2") if name in maps}


def test_a_gate_loads_what_drafts_with_the_first_object_and_never_more(
    credentials: Credentials,
) -> None:
    drafts: list[bool] = []

    async def handler(request: Request) -> Response:
        drafts.append(request.draft is not None)
        return Response(200)

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            await client.get("/")
            (pid,) = it.gates.pids
            assert loaded(pid) == set()
            body = b'{"metadata":{"name":"n"}}'
            head = b"POST /api/v1/namespaces/x/configmaps HTTP/1.1\r\nHost: x\r\n"
            while not any(drafts):
                await client.send(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
                assert (await client.answer()).status == 200
            assert loaded(pid) == {"re2"}
            await client.close()

    run(main())


def test_two_gates_share_the_clients(credentials: Credentials) -> None:
    async def main() -> None:
        async with serving(credentials, count=2) as it:
            await until(lambda: len(it.gates.pids) == 2)
            assert all([await it.is_served() for _ in range(20)])
            os.kill(it.gates.pids[0], signal.SIGKILL)
            assert all([await it.is_served() for _ in range(20)])

    run(main())
