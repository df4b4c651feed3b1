"""How an agent is, for whoever looks after it: health and numbers, over plain HTTP.

There is nothing to be had here that is a secret, and nothing can be changed.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from atoll.apiserver.health import ENDPOINTS, Health
from atoll.apiserver.http.serving import HttpServer, listen
from atoll.apiserver.responding import text_response
from atoll.effects import Effects
from atoll.errors import UsageError
from atoll.exchange import Request, Response
from atoll.instruments.families import CONTENT_TYPE, Family, text_of
from atoll.instruments.process import process

Address = tuple[str, int]


@asynccontextmanager
async def shown(
    address: Address, health: Health, numbers: Callable[[], Iterable[Family]], effects: Effects
) -> AsyncIterator[None]:
    """Answer at an address for the length of the block; UsageError if that cannot be had."""

    async def handle(request: Request) -> Response:
        return _answer(request, health, numbers)

    try:
        listener = listen(*address)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        where = f"{address[0]}:{address[1]}"
        raise UsageError(
            f"cannot listen on {where}; {why}; try: another --metrics-bind-address"
        ) from error
    server = HttpServer(handle, effects.now)
    await server.start(listener, None)
    try:
        yield
    finally:
        await server.stop()


def _answer(request: Request, health: Health, numbers: Callable[[], Iterable[Family]]) -> Response:
    if request.method != "GET":
        return text_response("405 method not allowed\n", 405)
    endpoint, _, name = request.path.strip("/").partition("/")
    if endpoint == "metrics" and not name:
        text = text_of([*numbers(), *process()])
        return Response(200, {"Content-Type": CONTENT_TYPE}, text.encode())
    found = health.respond(endpoint, request.query, name) if endpoint in ENDPOINTS else None
    return found or text_response("404 page not found\n", 404)
