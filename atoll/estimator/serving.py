"""An estimator for others: Karmada's protocol over gRPC, so that its scheduler can ask us.

Requests come in, and are given to an `Answers`; one number goes out, or why there is none.
"""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from grpclib import GRPCError, Status
from grpclib.const import Cardinality, Handler
from grpclib.server import Server, Stream

from atoll.errors import AtollError, Invalid, Malformed, UsageError
from atoll.estimator.grpc import PORT, Bytes, Trust, server_tls
from atoll.estimator.messages import METHODS, path, read_request, write_answer
from atoll.wire import Wire


class NotHere(AtollError):
    """The cluster that is asked about is not known here, or not yet."""


class Answers(Protocol):
    """Who knows: a method's name and its request come in, the number goes out.

    NotHere if the cluster is not known; Invalid if the request cannot be read.
    """

    async def answer(self, method: str, request: Wire) -> int: ...


class _Service:
    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def __mapping__(self) -> dict[str, Handler]:
        return {
            path(each): Handler(self._serving(each), Cardinality.UNARY_UNARY, bytes, bytes)
            for each in METHODS
        }

    def _serving(self, method: str) -> Any:
        async def serve(stream: Stream[bytes, bytes]) -> None:
            data = await stream.recv_message()
            try:
                count = await self._answers.answer(method, read_request(method, data or b""))
            except (Malformed, Invalid) as error:
                raise GRPCError(Status.INVALID_ARGUMENT, str(error)) from error
            except NotHere as error:
                raise GRPCError(Status.NOT_FOUND, str(error)) from error
            except AtollError as error:
                raise GRPCError(Status.UNAVAILABLE, str(error)) from error
            await stream.send_message(write_answer(count))

        return serve


@asynccontextmanager
async def serving(
    answers: Answers, host: str, port: int = PORT, trust: Trust | None = None
) -> AsyncIterator[int]:
    """Serve for the length of the block; gives the port, for 0 means any that is free."""
    tls = server_tls(trust or Trust())
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot listen on {host}:{port}; {why}; try another port") from error
    server = Server([_Service(answers)], codec=Bytes())
    await server.start(sock=listener, ssl=tls)
    try:
        yield int(listener.getsockname()[1])
    finally:
        server.close()
        await server.wait_closed()
